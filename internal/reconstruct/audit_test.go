// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge/forgeaudit"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// withAudit adds the recorded audit records of the traces that the evidence holds, after a change to them.
func withAudit(t *testing.T, set *evidence.Set, change func(lines []string) []string) *evidence.Set {
	t.Helper()
	stream := forgeaudit.New(nil)
	for _, name := range []string{"stock-helper.audit.ndjson", "price-helper.audit.ndjson"} {
		data, err := os.ReadFile(filepath.Join(corpus, "forge", name))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
		if change != nil {
			lines = change(lines)
		}
		for i, line := range lines {
			if err := stream.Add(name, i+1, line); err != nil {
				t.Fatal(err)
			}
		}
	}
	return joinedWith(set, stream.Close())
}

// joinedWith leaves the records of other traces out.
func joinedWith(set *evidence.Set, audit forgeaudit.Result) *evidence.Set {
	records := evidence.NewSet()
	records.AddLogs(audit.Logs)
	all := set.Clone()
	for _, mine := range set.Split() {
		for _, its := range records.Split() {
			if its.TraceID == mine.TraceID {
				all.Merge(its.Set)
			}
		}
	}
	return all
}

var chain = regexp.MustCompile(`"prev_hash":"[0-9a-f]*",`)

// unchained takes the chain off.
func unchained(lines []string) []string {
	for i, line := range lines {
		lines[i] = chain.ReplaceAllString(line, "")
	}
	return lines
}

// rechained changes one line and writes the chain of the others anew, as a writer who wants to hide the change would. Signatures are
// not checked here.
func rechained(at int, old, new string) func([]string) []string {
	return func(lines []string) []string {
		if at >= len(lines) || !strings.Contains(lines[at], old) {
			return lines
		}
		sums := map[string]string{}
		sum := func(s string) string {
			b := sha256.Sum256([]byte(s))
			return hex.EncodeToString(b[:])
		}
		for i, line := range lines {
			before := sum(line)
			if i == at {
				line = strings.Replace(line, old, new, 1)
			}
			for from, to := range sums {
				line = strings.Replace(line, `"prev_hash":"`+from+`"`, `"prev_hash":"`+to+`"`, 1)
			}
			if line != lines[i] {
				sums = map[string]string{before: sum(line)}
			}
			lines[i] = line
		}
		return lines
	}
}

func codesOf(tp *tape.Tape) []tape.Code {
	var list []tape.Code
	for _, f := range tp.Fidelity.Findings {
		list = append(list, f.Code)
	}
	return list
}

// TestOracleOfEveryForgeRunIsTheTruth: for every recorded run, each entry of the oracle is what the tool really got and gave, or says
// why it is not: from the spans alone, and with the audit records beside them.
func TestOracleOfEveryForgeRunIsTheTruth(t *testing.T) {
	type tally struct{ exact, labelled, unservable int }
	for _, c := range []struct {
		name string
		add  func(*testing.T, *evidence.Set) *evidence.Set
		want tally
	}{
		{"spans", func(_ *testing.T, set *evidence.Set) *evidence.Set { return set }, tally{19, 3, 1}},
		{"spans and audit records", func(t *testing.T, set *evidence.Set) *evidence.Set { return withAudit(t, set, nil) }, tally{20, 3, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got tally
			files, err := filepath.Glob(filepath.Join(corpus, "forge", "*.truth.json"))
			if err != nil || len(files) < 14 {
				t.Fatal(files, err)
			}
			for _, file := range files {
				scenario := strings.TrimSuffix(filepath.Base(file), ".truth.json")
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				truth, err := exactjson.Parse(strings.TrimSpace(string(data)))
				if err != nil {
					t.Fatal(err)
				}
				entries := oracle.FromTape(onlyRun(t, c.add(t, forgeEvidence(t, scenario))))
				calls := truth.Get("tool_calls")
				if len(entries) != calls.Len() {
					t.Errorf("%s: %d entries, %d calls took place", scenario, len(entries), calls.Len())
					continue
				}
				for i, e := range entries {
					switch differs := differing(calls.At(i), e); {
					case !e.Servable():
						got.unservable++
					case e.ArgsFidelity == oracle.Exact && e.ResponseFidelity == oracle.Exact && differs == "":
						got.exact++
					case e.ArgsFidelity != oracle.Exact || e.ResponseFidelity != oracle.Exact:
						got.labelled++
					default:
						t.Errorf("%s, call %d: %s", scenario, i, differs)
					}
				}
			}
			if got != c.want {
				t.Errorf("entries: %+v, want %+v", got, c.want)
			}
		})
	}
}

// differing says in what an entry differs from what really took place.
func differing(call exactjson.Value, e oracle.Entry) string {
	want := call.Get("result").Str()
	if failure := call.Get("error").Str(); failure != "" {
		want = strings.TrimPrefix(failure, "Error executing tool "+e.ToolName+": ")
	}
	response := e.Response
	if e.IsError {
		response = strings.TrimPrefix(response, "Error executing tool "+e.ToolName+": ")
	}
	switch {
	case e.ToolName != call.Get("name").Str():
		return "another tool"
	case e.ArgsHash != oracle.HashText(call.Get("args_raw").Str()):
		return "other arguments: " + e.Args.JSON()
	case e.IsError != (call.Get("error").Str() != ""):
		return "failed or not"
	case response != want:
		return "another answer: " + response
	}
	return ""
}

// TestAuditRecordFillsWhatTheSpanCut: the only call of the recorded runs that spans alone cannot serve.
func TestAuditRecordFillsWhatTheSpanCut(t *testing.T) {
	before, after := forgeTape(t, "truncated_redacted"), onlyRun(t, withAudit(t, forgeEvidence(t, "truncated_redacted"), nil))
	// The other calls of the run hold masks, which nobody can serve.
	if b, a := before.Fidelity, after.Fidelity; b.Proof.Served != 3 || a.Proof.Served != 4 || a.Proof.Recorded != 1 || b.Grade != tape.GradeModel || a.Grade != tape.GradeModel {
		t.Errorf("grades %s, %s; %+v, %+v", b.Grade, a.Grade, b.Proof, a.Proof)
	}
	e := after.Events[1]
	if e.Provenance["result"] != tape.Recovered || len(e.Result.Str()) != 10879 || !slices.Contains(codesOf(after), tape.CodeResultRecovered) {
		t.Errorf("%d bytes (%s), %v", len(e.Result.Str()), e.Provenance["result"], codesOf(after))
	}
	if slices.Contains(codesOf(after), tape.CodeUnassignedRecords) || after.Sources.Logs != 21 {
		t.Errorf("%d records, %v", after.Sources.Logs, codesOf(after))
	}
}

// TestAuditRecordsThatCannotBeTrustedGiveNothing: what is taken from a record is what its stream and the span confirm.
func TestAuditRecordsThatCannotBeTrustedGiveNothing(t *testing.T) {
	const big = 79
	for _, c := range []struct {
		name   string
		change func([]string) []string
		label  tape.Label
		codes  []tape.Code
		bytes  int
	}{
		{"changed", func(l []string) []string {
			if len(l) > big {
				l[big] = strings.Replace(l[big], "0123456789", "9876543210", 1)
			}
			return l
		}, tape.Truncated, []tape.Code{tape.CodeAuditMismatch, tape.CodeAuditUntrusted}, 4089},
		{"changed, the chain written anew", rechained(big, "0123456789", "9876543210"), tape.Truncated, []tape.Code{tape.CodeAuditMismatch}, 4089},
		{"cut by the audit cap as well", rechained(big, `\",\"status\":200,\"status_text\":\"200 OK\"}`, `…[truncated:20000]`), tape.Truncated, nil, 4089},
		{"two records claim one number, and nothing is chained", func(l []string) []string {
			if l = unchained(l); len(l) > big {
				l = append(l, strings.Replace(l[big], `\"status\":200`, `\"status\":500`, 1))
			}
			return l
		}, tape.Truncated, []tape.Code{tape.CodeAuditMismatch, tape.CodeAuditUntrusted}, 4089},
		{"another record is missing", func(l []string) []string {
			if len(l) > big {
				l = slices.Delete(l, 76, 77)
			}
			return l
		}, tape.Recovered, []tape.Code{tape.CodeAuditMismatch, tape.CodeAuditUntrusted}, 10879},
	} {
		t.Run(c.name, func(t *testing.T) {
			tp := onlyRun(t, withAudit(t, forgeEvidence(t, "truncated_redacted"), c.change))
			e := tp.Events[1]
			if got := e.Provenance["result"]; got != c.label || len(e.Result.Str()) != c.bytes {
				t.Errorf("%d bytes, %q: %v", len(e.Result.Str()), got, codesOf(tp))
			}
			for _, code := range []tape.Code{tape.CodeAuditMismatch, tape.CodeAuditUntrusted} {
				if slices.Contains(codesOf(tp), code) != slices.Contains(c.codes, code) {
					t.Errorf("findings %v, want %v", codesOf(tp), c.codes)
				}
			}
		})
	}
}

// TestDisputedAuditRecordsNameNoCaller: of two records that claim one place, neither is believed.
func TestDisputedAuditRecordsNameNoCaller(t *testing.T) {
	tp := onlyRun(t, withAudit(t, forgeEvidence(t, "happy"), func(lines []string) []string {
		if lines = unchained(lines); len(lines) > 5 {
			for _, i := range []int{3, 4} {
				lines = append(lines, strings.Replace(lines[i], `"invocation_caller":"orchestrator-x"`, `"invocation_caller":"somebody"`, 1))
			}
		}
		return lines
	}))
	if _, there := tp.Input.A2A.Headers["X-Invocation-Caller"]; there || !slices.Contains(tp.Input.A2A.Missing, "headers.X-Invocation-Caller") || !slices.Contains(codesOf(tp), tape.CodeAuditUntrusted) {
		t.Errorf("%v %v", tp.Input.A2A, codesOf(tp))
	}
}

// TestAuditStreamShowsTheHiddenModelCall: the repetition after an empty answer has no span, and gave the answer of the run.
func TestAuditStreamShowsTheHiddenModelCall(t *testing.T) {
	tp := onlyRun(t, withAudit(t, forgeEvidence(t, "empty_final_retry"), nil))
	if tp.Usage.ModelCalls != 3 || tp.Output.Text == nil || *tp.Output.Text != "recovered summary" || tp.Output.Provenance["text"] != tape.Recovered || *tp.Usage.OutputTokens != 60 {
		t.Errorf("%d calls, %v", tp.Usage.ModelCalls, tp.Output)
	}
	last := tp.Events[len(tp.Events)-1]
	if last.Type != tape.EventModelCall || last.Provenance["response.message"] != tape.Recovered || last.Provenance["request.messages"] != tape.Missing ||
		!slices.Contains(codesOf(tp), tape.CodeModelCallHidden) {
		t.Errorf("%+v %v", last, codesOf(tp))
	}
	if last.StartedAt.After(tp.Run.EndedAt) || last.StartedAt.Before(tp.Events[2].StartedAt) {
		t.Errorf("it began at %s, the run ended at %s", last.StartedAt, tp.Run.EndedAt)
	}
}

// TestAuditRecordsAloneCarryTheContent: a run whose spans hold no content at all.
func TestAuditRecordsAloneCarryTheContent(t *testing.T) {
	want := forgeTape(t, "parallel_turn")
	set := forgeEvidence(t, "parallel_turn")
	for _, item := range set.Items() {
		for _, key := range []string{"forge.tool.args", "forge.tool.result", "gen_ai.input.messages", "gen_ai.output.messages"} {
			item.Span.Attributes().Remove(key)
		}
	}
	cut := onlyRun(t, withAudit(t, set, func(lines []string) []string {
		if len(lines) > 27 { // the beginning of the request
			lines = slices.Delete(unchained(lines), 25, 28)
		}
		return lines
	}))
	if !slices.Contains(codesOf(cut), tape.CodeAuditMismatch) || slices.ContainsFunc(oracle.FromTape(cut), func(e oracle.Entry) bool { return e.Servable() }) {
		t.Errorf("records whose place is not certain were used: %v", codesOf(cut))
	}
	tp := onlyRun(t, withAudit(t, set, nil))
	entries, recorded := oracle.FromTape(tp), oracle.FromTape(want)
	if len(entries) != 4 {
		t.Fatalf("%d entries", len(entries))
	}
	for i, e := range entries {
		if r := recorded[i]; !e.Servable() || e.ArgsHash != r.ArgsHash || e.Response != r.Response || e.ToolName != r.ToolName {
			t.Errorf("%+v, want %+v", e, r)
		}
	}
	if tp.Output.Text == nil || *tp.Output.Text != *want.Output.Text || !tp.Fidelity.Replayable.Tools {
		t.Errorf("%v %s", tp.Output, tp.Fidelity.Grade)
	}
}

// TestAuditRecordBringsBackTheCutConversation: the first message list is cut inside the user's message, as with a real system prompt, and
// the answer is cut too.
func TestAuditRecordBringsBackTheCutConversation(t *testing.T) {
	set := forgeEvidence(t, "happy")
	cut := func(text string) string {
		return text[:4069] + "…[truncated:" + exactjson.IntValue(int64(len(text))).Text() + "]"
	}
	sent := exactjson.ArrayValue(message("system", strings.Repeat("S", 5000)), message("user", "how many?")).JSON()
	said := exactjson.ArrayValue(message("assistant", strings.Repeat("<b>", 2000))).JSON()
	said = strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(said) // as Go writes it
	first := true
	for _, item := range set.Items() {
		if item.Span.Name() != "llm.completion" {
			continue
		}
		if first {
			item.Span.Attributes().PutStr("gen_ai.input.messages", cut(sent))
		} else {
			item.Span.Attributes().PutStr("gen_ai.output.messages", cut(said))
		}
		first = false
	}
	if tp := onlyRun(t, set); tp.Input.UserMessage != nil || tp.Output.Text != nil && len(*tp.Output.Text) == 6000 {
		t.Fatal("the spans are not cut")
	}
	fields := func(i int, name, text string) func([]string) []string {
		return rechained(i, `"fields":{`, `"fields":{"`+name+`":`+exactjson.StringValue(text).JSON()+`,`)
	}
	tp := onlyRun(t, withAudit(t, set, func(lines []string) []string {
		lines = fields(5, "prompt_messages", sent)(lines)
		return rechained(9, `"completion_text":"There are 99 units."`, `"completion_text":"`+strings.Repeat("<b>", 2000)+`"`)(lines)
	}))
	if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "how many?" || tp.Input.Provenance["user_message"] != tape.Recovered ||
		tp.Input.Provenance["a2a.params.message.parts.0.text"] != tape.Recovered || tp.Events[0].Provenance["request.messages"] != tape.Recovered {
		t.Errorf("%v %v %v", tp.Input.UserMessage, tp.Input.Provenance, tp.Fidelity.Findings)
	}
	if last := tp.Events[2]; tp.Output.Text == nil || *tp.Output.Text != strings.Repeat("<b>", 2000) || last.Provenance["response.message"] != tape.Recovered {
		t.Errorf("%v %v", last.Provenance, tp.Fidelity.Findings)
	}
}

// TestOracleOfAnAgentThatCallsAnotherIsTheTruth: what the calling agent got is what its model was shown next.
func TestOracleOfAnAgentThatCallsAnotherIsTheTruth(t *testing.T) {
	sent := sentRequests(t)
	i := slices.IndexFunc(sent, func(s sentRequest) bool { return s.Case == "two_agents" })
	shown := ""
	for _, m := range sent[i].Models {
		for _, message := range m.Messages {
			if message.Role == "tool" {
				shown = message.Content
			}
		}
	}
	for name, set := range map[string]*evidence.Set{"spans": forgeEvidence(t, "two_agents"), "audit": withAudit(t, forgeEvidence(t, "two_agents"), nil)} {
		entries := oracle.FromTape(onlyRun(t, set))
		if len(entries) != 1 || shown == "" || entries[0].Response != shown || entries[0].ResponseFidelity != oracle.Exact {
			t.Errorf("%s: %+v, the model was shown %s", name, entries, shown)
		}
	}
}

// TestAuditStreamClosesGaps: of the true values that the spans of the recorded Forge runs do not hold, how many the audit records bring,
// and that they bring nothing wrong.
func TestAuditStreamClosesGaps(t *testing.T) {
	tally := func(add func(*evidence.Set) *evidence.Set) map[groundtruth.Outcome]int {
		outcomes := map[groundtruth.Outcome]int{}
		for _, run := range runs(t) {
			if run.Group != "forge" {
				continue
			}
			set, err := run.Evidence()
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range run.Score(reconstruct.All(add(set).Split(), options)) {
				outcomes[row.Outcome]++
				if row.Outcome.Bad() {
					t.Errorf("%s: %s is %s: %s", run.Scenario, row.Field, row.Outcome, row.Detail)
				}
			}
		}
		return outcomes
	}
	spans := tally(func(set *evidence.Set) *evidence.Set { return set })
	audit := tally(func(set *evidence.Set) *evidence.Set { return withAudit(t, set, nil) })
	want := map[string]map[groundtruth.Outcome]int{"spans": {groundtruth.Exact: 183, groundtruth.Absent: 7}, "audit": {groundtruth.Exact: 187, groundtruth.Absent: 5}}
	if diff := cmp.Diff(want, map[string]map[groundtruth.Outcome]int{"spans": spans, "audit": audit}); diff != "" {
		t.Error(diff)
	}
}
