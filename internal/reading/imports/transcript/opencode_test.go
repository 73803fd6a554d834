// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const openCodeRecordings = "opencode/opencode-1.18.33/"

// openCode is an export of a session that began at 0, with these messages.
func openCode(messages ...string) string {
	return `{"info":{"id":"ses_a","version":"1.18.33","time":{"created":1795922000000}},"messages":[` + strings.Join(messages, ",") + "]}\n"
}

// openCodeMessage is a message of the second second n. Info and parts are the members behind the common ones.
func openCodeMessage(n int, role, info string, parts ...string) string {
	return fmt.Sprintf(`{"info":{"id":"msg_%05d","role":%q,"providerID":"mock","modelID":"gpt-4o","time":{"created":%d,"completed":%d}%s},"parts":[%s]}`,
		n, role, 1795922000000+1000*n, 1795922000500+1000*n, info, strings.Join(parts, ","))
}

func openCodeText(text string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, text) }

// openCodeTool is a call of a tool. State holds the members behind the common ones.
func openCodeTool(id, status, state string) string {
	return fmt.Sprintf(`{"type":"step-start"},{"type":"tool","tool":"bash","callID":%q,"state":{"status":%q,"input":{"command":"ls"},"time":{"start":1795922001600,"end":1795922001700}%s}}`, id, status, state)
}

// lastRequest is what the last model call of the only tape was sent, a line for each part.
func lastRequest(t *testing.T, text string) string {
	t.Helper()
	tapes, refused := made(t, text)
	if len(tapes) != 1 || refused > 0 {
		t.Fatalf("%d tapes, %d are refused", len(tapes), refused)
	}
	var b strings.Builder
	for _, e := range slices.Backward(tapes[0].Events) {
		if e.Type != tape.EventModelCall {
			continue
		}
		for _, id := range e.Request.Messages {
			m := tapes[0].Messages[id]
			for _, p := range m.Parts {
				said := p.Text
				switch p.Type {
				case tape.PartToolCall:
					said = p.ID
				case tape.PartToolResult:
					said = p.Result.Text()
				case tape.PartMedia:
					said = p.MIMEType
				}
				fmt.Fprintf(&b, "%s %s %s\n", m.Role, p.Type, said)
			}
		}
		break
	}
	return b.String()
}

// TestWhatOpenCodeSends: the rules by which the program makes a request of the messages of a session.
func TestWhatOpenCodeSends(t *testing.T) {
	prompt, again := openCodeMessage(0, "user", "", openCodeText("Go.")), openCodeMessage(8, "assistant", "", openCodeText("Done."))
	const asked, ran = "user text Go.\n", `,"output":"src"`
	for name, c := range map[string]struct{ messages, want string }{
		"result":      {openCodeMessage(1, "assistant", "", openCodeTool("c1", "completed", ran)), "assistant tool_call c1\ntool tool_result src\n"},
		"failure":     {openCodeMessage(1, "assistant", "", openCodeTool("c1", "error", `,"error":"no"`)), "assistant tool_call c1\ntool tool_result no\n"},
		"running":     {openCodeMessage(1, "assistant", "", openCodeTool("c1", "running", "")), "assistant tool_call c1\ntool tool_result [Tool execution was interrupted]\n"},
		"interrupted": {openCodeMessage(1, "assistant", "", openCodeTool("c1", "error", `,"error":"no","metadata":{"interrupted":true,"output":"half"}`)), "assistant tool_call c1\ntool tool_result half\n"},
		"cleared": {
			strings.Replace(openCodeMessage(1, "assistant", "", openCodeTool("c1", "completed", ran)), `"end":`, `"compacted":1795922002000,"end":`, 1),
			"assistant tool_call c1\ntool tool_result [Old tool result content cleared]\n",
		},
		"cleared later": {
			strings.Replace(openCodeMessage(1, "assistant", "", openCodeTool("c1", "completed", ran)), `"end":`, `"compacted":1795922999000,"end":`, 1),
			"assistant tool_call c1\ntool tool_result src\n",
		},
		"error":         {openCodeMessage(1, "assistant", `,"error":{"name":"APIError","data":{"message":"no"}}`, openCodeText("He")), ""},
		"ended":         {openCodeMessage(1, "assistant", `,"error":{"name":"MessageAbortedError","data":{"message":"no"}}`, openCodeText("He")), "assistant text He\n"},
		"thoughts":      {openCodeMessage(1, "assistant", "", `{"type":"reasoning","text":"Hm."}`, openCodeText("Yes.")), "assistant reasoning Hm.\nassistant text Yes.\n"},
		"another model": {strings.Replace(openCodeMessage(1, "assistant", "", `{"type":"reasoning","text":"Hm."}`), "gpt-4o", "gpt-5", 1), "assistant text Hm.\n"},
		"command of a user": {
			openCodeMessage(1, "user", "", `{"type":"text","synthetic":true,"text":"A user ran this."}`) + "," + strings.Replace(openCodeMessage(2, "assistant", "", openCodeTool("c1", "completed", ran)), `{"type":"step-start"},`, "", 1),
			"user text A user ran this.\nassistant tool_call c1\ntool tool_result src\n",
		},
		"files": {
			openCodeMessage(1, "user", "", `{"type":"text","synthetic":true,"text":"Read it."},{"type":"file","synthetic":true,"mime":"text/plain","url":"file:///../../a"},{"type":"file","synthetic":true,"mime":"image/png","url":"data:image/png;base64,AAAA"},{"type":"text","synthetic":true,"ignored":true,"text":"no"}`),
			"user text Read it.\nuser media image/png\n",
		},
	} {
		if got := lastRequest(t, openCode(prompt, c.messages, again)); got != asked+c.want {
			t.Errorf("%s: sent\n%swant\n%s", name, got, asked+c.want)
		}
	}
}

// TestOpenCodeCompacts: the summary stands for what was said before it, but for the tail that it names. The
// program goes on, or repeats a prompt that was too long: that is one run.
func TestOpenCodeCompacts(t *testing.T) {
	early, prompt := openCodeMessage(0, "user", `,"x":1`, openCodeText("Go.")), openCodeMessage(1, "assistant", "", openCodeText("Kept."))
	summary := openCodeMessage(3, "assistant", `,"summary":true,"finish":"stop","parentID":"msg_00002"`, `{"type":"step-start"}`, openCodeText("Sum."))
	last := openCodeMessage(5, "assistant", "", openCodeText("Done."))
	compaction := func(rest string) string {
		return openCodeMessage(2, "user", "", `{"type":"compaction","auto":true`+rest+`}`)
	}
	for name, c := range map[string]struct{ compaction, next, want string }{
		"all":      {compaction(""), openCodeMessage(4, "user", "", `{"type":"text","synthetic":true,"text":"Continue."}`), "user text What did we do so far?\nassistant text Sum.\nuser text Continue.\n"},
		"tail":     {compaction(`,"tail_start_id":"msg_00001"`), openCodeMessage(4, "user", "", `{"type":"text","synthetic":true,"text":"Continue."}`), "user text What did we do so far?\nassistant text Sum.\nassistant text Kept.\nuser text Continue.\n"},
		"repeated": {compaction(`,"overflow":true`), openCodeMessage(4, "user", "", openCodeText("Go.")), "user text What did we do so far?\nassistant text Sum.\nuser text Go.\n"},
	} {
		if got := lastRequest(t, openCode(early, prompt, c.compaction, summary, c.next, last)); got != c.want {
			t.Errorf("%s: sent\n%swant\n%s", name, got, c.want)
		}
	}
	if tapes, _ := made(t, openCode(early, prompt, strings.Replace(compaction(""), "true", "false", 1), summary)); len(tapes) != 2 || *tapes[1].Output.Text+*tapes[0].Output.Text != "Sum.Kept." && *tapes[0].Output.Text+*tapes[1].Output.Text != "Sum.Kept." {
		t.Errorf("a compaction that a user asked for gives %d tapes", len(tapes))
	}
}

// messagesOf are the messages of a recorded export, and what stands before them.
func messagesOf(t testing.TB, name string) (head string, messages []string) {
	t.Helper()
	v, err := exactjson.Parse(recorded(t, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range v.Get("messages").Members() {
		messages = append(messages, m.Value.JSON())
	}
	return `{"info":` + v.Get("info").JSON() + `,"messages":[`, messages
}

// TestOpenCodeExportThatGrew: what was exported before, what was added and what was changed give the tapes of
// the whole, in any order and read twice.
func TestOpenCodeExportThatGrew(t *testing.T) {
	head, messages := messagesOf(t, openCodeRecordings+"parallel.json.zst")
	whole := head + strings.Join(messages, ",") + "]}"
	want, _ := made(t, whole)
	running := strings.NewReplacer(`"status":"completed"`, `"status":"running"`, `"completed":`, `"was":`).Replace(messages[1])
	cleared := strings.Replace(whole, `"start":`, `"compacted":1795999999000,"start":`, 1)
	for name, part := range map[string]string{
		"one": head + messages[0] + "]}", "three": head + strings.Join(messages[:3], ",") + "]}", "running": head + messages[0] + "," + running + "]}", "cleared": cleared,
		"title": strings.Replace(whole, `"title":"Demo"`, `"title":"Another"`, 1),
	} {
		for _, files := range [][]string{{part, whole}, {whole, part}, {whole, whole, part}, {whole + part}} {
			if got, refused := made(t, files...); refused > 0 || !slices.Equal(ids(got), ids(want)) {
				t.Errorf("%s before the rest gives other tapes, %d are refused", name, refused)
			}
		}
	}
	for n := range messages {
		tapes, _ := made(t, head+strings.Join(messages[:n], ",")+"]}")
		for _, cut := range tapes {
			if cut.Output.Text != nil {
				t.Errorf("%d messages make a whole run", n)
			}
		}
		if tapes, refused := made(t, head+strings.Join(messages[:n], ",")); len(tapes) > 0 || refused != 1 {
			t.Errorf("a file that is cut gives %d tapes, %d are refused", len(tapes), refused)
		}
	}
}

// TestOpenCodeForks: what a session took over from another one is history, and no run again.
func TestOpenCodeForks(t *testing.T) {
	for _, made := range tapesOf(t, "opencode", "opencode-1.18.33", "fork") {
		if made.Usage.ModelCalls != 2 {
			t.Errorf("%q has %d model calls", *made.Input.UserMessage, made.Usage.ModelCalls)
		}
	}
}

// TestOpenCodeToolThatThereIsNot: the program changes such a call, which the tape says.
func TestOpenCodeToolThatThereIsNot(t *testing.T) {
	made := tapesOf(t, "opencode", "opencode-1.18.33", "unknown")[0]
	if e := made.Events[0]; e.Provenance["response.message"] != tape.Lossy {
		t.Errorf("the answer has the provenance %v", e.Provenance)
	}
}

// TestOpenCodeSanitizedExport: what `opencode export --sanitize` leaves out is masked, and nothing is
// replayed.
func TestOpenCodeSanitizedExport(t *testing.T) {
	tapes, refused := made(t, openCode(
		openCodeMessage(0, "user", "", openCodeText("[redacted:text:prt_1]")),
		openCodeMessage(1, "assistant", "", strings.Replace(openCodeTool("c1", "completed", `,"output":"[redacted:tool-output:prt_2]"`), `{"command":"ls"}`, `{"redacted":"tool-input:prt_2"}`, 1)),
		openCodeMessage(2, "assistant", "", openCodeText("[redacted:text:prt_3]")),
	))
	if len(tapes) != 1 || refused > 0 || tapes[0].Input.UserMessage != nil || tapes[0].Output.Text != nil || tapes[0].Fidelity.Grade == tape.GradeOffline {
		t.Fatalf("%d tapes, %d are refused", len(tapes), refused)
	}
	if e := tapes[0].Events[1]; e.Provenance["args"] != tape.Masked || e.Provenance["result"] != tape.Masked {
		t.Errorf("the tool has the provenance %v", e.Provenance)
	}
}

// TestOpenCodeAgentsLieWithinTheCallThatRanThem: versions before 1.2 write a later time as the begin of the
// call. What a user asks of the agent's session itself is a run of its own.
func TestOpenCodeAgentsLieWithinTheCallThatRanThem(t *testing.T) {
	ran := openCode(openCodeMessage(0, "user", "", openCodeText("Go.")), strings.Replace(openCodeMessage(1, "assistant", "", openCodeTool("c1", "completed", `,"output":"o","metadata":{"sessionId":"ses_b"}`)), `"bash"`, `"task"`, 1), openCodeMessage(9, "assistant", "", openCodeText("Done.")))
	agent := func(at int) string {
		export := openCode(openCodeMessage(at, "user", "", openCodeText("Sub.")), openCodeMessage(at+1, "assistant", "", openCodeText("Yes.")))
		return strings.Replace(export, `"id":"ses_a"`, `"id":"ses_b","parentID":"ses_a"`, 1)
	}
	for at, want := range map[int]int{1: 1, 3: 2} {
		if tapes, refused := made(t, agent(at), ran); len(tapes) != want || refused > 0 {
			t.Errorf("an agent asked at %d gives %d tapes, not %d", at, len(tapes), want)
		}
	}
}

func TestHostileOpenCodeExports(t *testing.T) {
	whole := recorded(t, openCodeRecordings+"parallel.json.zst")
	many := func(n int, message func(i int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = message(i)
		}
		return openCode(list...)
	}
	for name, text := range map[string]string{
		"depth":        strings.Replace(whole, `"input": {`, `"input": {"deep":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+`,`, 1),
		"invalid text": strings.Replace(whole, "Now the edit.", "\xff\xfe\x80", 1),
		"names":        strings.NewReplacer(`"ses_`, `"ses_../../../etc/`, `"msg_`, `"../../`, `"callID": "`, `"callID": "../..`).Replace(whole),
		"types":        strings.NewReplacer(`"state": {`, `"state": [{`, `"time": {`, `"time": "`).Replace(whole),
		"wrong types":  openCode(`{"info":{"id":"m","role":7,"time":{"created":1795922000000,"completed":[]},"error":{}},"parts":{"a":{"type":["x"]}}}`, `{}`, `7`),
		"times":        strings.NewReplacer(`"start": 17`, `"start": -99999999999917`, `"end": 17`, `"end": 99999999999917`).Replace(whole),
		"own summary":  openCode(openCodeMessage(0, "user", "", openCodeText("Go.")), openCodeMessage(1, "assistant", `,"summary":true,"finish":"stop","parentID":"msg_00001"`, `{"type":"compaction","tail_start_id":"msg_00001"}`), openCodeMessage(2, "assistant", "")),
		"turns": many(3000, func(i int) string {
			return openCodeMessage(i, []string{"user", "assistant"}[i%2], "", openCodeTool("c", "completed", `,"output":"o","metadata":{"sessionId":"ses_a"}`))
		}),
		"summaries": many(3000, func(i int) string {
			return openCodeMessage(i, "assistant", `,"summary":true,"finish":"stop","parentID":"x"`, openCodeText("a"))
		}),
		"tools":      openCode(openCodeMessage(0, "user", "", openCodeText("Go.")), openCodeMessage(1, "assistant", "", strings.Repeat(openCodeTool("c", "completed", `,"output":"o"`)+",", 2000)+openCodeText("a"))),
		"own parent": strings.Replace(strings.Repeat(openCode(openCodeMessage(0, "user", "", openCodeText("Go.")), openCodeMessage(1, "assistant", "", openCodeTool("c", "completed", `,"output":"o","metadata":{"sessionId":"ses_a"}`))), 2), `"version"`, `"parentID":"ses_a","version"`, 1),
	} {
		begun := time.Now()
		tapes, refused := made(t, text)
		t.Logf("%s: %d tapes, %d refused, %v", name, len(tapes), refused, time.Since(begun).Round(time.Millisecond))
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%s takes %v", name, took)
		}
	}
}

func FuzzOpenCode(f *testing.F) {
	names, _ := filepath.Glob(filepath.Join(recordings, openCodeRecordings, "*.zst"))
	for _, path := range names {
		head, messages := messagesOf(f, openCodeRecordings+filepath.Base(path))
		f.Add([]byte(head + strings.Join(messages, ",") + "]}"))
		for n := range messages {
			f.Add([]byte(head + messages[0] + "," + messages[n] + "]}"))
		}
	}
	f.Fuzz(readTwice)
}
