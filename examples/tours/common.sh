# What the tours share: a folder for what they write, two recorded runs of one agent, and how a step fails.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
PATH="$root/bin:$PATH"
export PATH
work=${TOUR:-$(mktemp -d)}
mkdir -p "$work"
XDG_STATE_HOME=$work/state # there lies the key that derive makes
export XDG_STATE_HOME

step() { printf '\n== %s\n' "$*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }
# says FILE TEXT: the step printed this.
says() { grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "nothing says: $2"; }; }
# ends CODE COMMAND…: the command ends with this exit code, and its output is kept in $work/out.
ends() {
	want=$1; shift
	code=0
	"$@" >"$work/out" 2>"$work/err" || code=$?
	cat "$work/out" "$work/err"
	[ "$code" = "$want" ] || fail "$* ended with $code, not $want"
}

# The run that went well, and the same agent with a wrong calculation.
recordings() {
	recorded="$root/testdata/corpus/agents"
	cp "$recorded/langchain-openinference/research_chain.otlp.json" "$work/good.jsonl"
	sed -e 's#8849 / 330#330 / 8849#g' -e 's#26.815151515151516#0.0372923494#g' -e 's#About 26.8 times (8849 m / 330 m,#About 0.04 times (330 m / 8849 m,#g' \
		-e 's/5666c55d27d216df3e87b09e020d2036/6666c55d27d216df3e87b09e020d2036/g' "$work/good.jsonl" >"$work/bad.jsonl"
}
