import re

import pytest

from arz import Memory, Program
from arz.ops import NUMBER, OPS, Op

MEMORY = Memory(observations=6, actions=1, scalars=9, vectors=10, matrices=10, indices=6)

# The paper's column "Code Example", OP1 to OP84, with numbers for its constants, with index registers where the
# description takes the index from memory, and with a stream for the random op.
PAPER = """
no_op; s2=s3+s0; s4=s0-s1; s8=s5*s5; s7=s5/s2; s8=abs(s0); s4=1/s8; s5=sin(s4); s1=cos(s4); s3=tan(s3);
s0=arcsin(s4); s2=arccos(s0); s4=arctan(s0); s1=exp(s2); s0=log(s3); s3=heaviside(s0); v2=heaviside(v2);
m7=heaviside(m3); v1=s7*v1; v1=bcast(s3); v5=1/v7; s0=norm(v3); v3=abs(v3); v5=v0+v9; v1=v0-v9; v8=v1*v9; v9=v8/v2;
s6=dot(v1,v5); m1=outer(v6,v5); m1=s4*m2; m3=1/m0; v6=dot(m1,v0); m2=bcast(v0,axis=0); m2=bcast(v0,axis=1);
s2=norm(m1); v4=norm(m7,axis=0); v4=norm(m7,axis=1); m9=transpose(m3); m1=abs(m8); m2=m2+m0; m2=m3-m1; m3=m2*m3;
m4=m2/m4; m5=matmul(m5,m7); s1=minimum(s2,s3); v4=minimum(v3,v9); m2=minimum(m2,m1); s8=maximum(s3,s0);
v7=maximum(v3,v6); m7=maximum(m1,m0); s2=mean(v2); s2=mean(m8); v1=mean(m2,axis=0); v3=std(m2,axis=0); s3=std(v3);
s4=std(m0); s2=0.1; v3[5]=0.2; m2[5,1]=0.1; s4=uniform(0.2,0.3,stream=4); m2=m4; v2=v4; i2=i4; v2=power(v5,v3);
v3=m2[:,i1]; v3=m2[i1,:]; s3=m2[i1,i5]; s3=v2[i5]; v3=0; s5=0; i2=0; v2=sqrt(v5); v2=power(v5,2); s1=sum(v5);
s5=sqrt(s1); s3=s0*s2+s5; s2=s4*0.1; m2[1,:]=v3; m2[:,1]=v3; i3=size(m1,axis=0)-1; i3=size(m1,axis=1)-1;
i3=len(v1)-1; s1=v0[i3]*v1[i3]+s0; s3=dot(v0[:i5+1],v1[:i5+1]); v3[i2]=s1
"""


def test_the_table_has_the_papers_84_ops_in_its_order_and_one_more() -> None:
    lines = [re.sub(r"\s+", " ", line).strip() for line in PAPER.split(";")]
    assert len(lines) == 85
    text = str(Program.build(MEMORY, [])).replace("    return action", "\n".join(f"    {line}" for line in lines))
    program = Program.parse(text)
    assert [NUMBER[line.op.name] for line in program.lines()] == list(range(85))
    assert [op.name for op in OPS if op.is_call] == ["call"]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (("x", "s s s", "{0} + {1}", "a + b"), "exactly one '->'"),
        (("x", "s q -> s", "{0} + {1}", "a + b"), "unknown kinds"),
        (("x", "s s -> s", "{0}", "a + b"), "must name each of its 2 inputs"),
        (("x", "s s -> s", "{0} + {1}", ""), "no formula"),
        (("x", "s s -> s", "{0} + {1}", "a + wrong"), "unknown names"),
        (("x", "s s -> s v", "{0} + {1}", "a + b"), "more than one output"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(row: tuple[str, str, str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Op(*row)


@pytest.mark.parametrize(
    ("name", "flops"),
    [
        ("no_op", 0),
        ("scalar_add", 1),
        ("scalar_set", 1),
        ("scalar_multiply_add", 2),
        ("vector_copy", 10),
        ("vector_dot", 20),
        ("vector_norm", 21),
        ("vector_set_element", 1),
        ("matrix_set_row", 10),
        ("matrix_matmul", 2000),
        ("matrix_mean", 101),
        ("vector_std", 10 + 1 + 30 + 2),
        ("vector_last", 1),
    ],
)
def test_flops_follow_from_the_formula(name: str, flops: int) -> None:
    assert OPS[NUMBER[name]].flops(10) == flops
