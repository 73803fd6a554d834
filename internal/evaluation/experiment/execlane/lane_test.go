// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package execlane

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
)

// TestMain makes this program a runner where a test starts it as one.
func TestMain(m *testing.M) {
	if mode := os.Getenv("EXECLANE_RUNNER"); mode != "" {
		os.Exit(runner(mode))
	}
	os.Exit(m.Run())
}

const hello = `{"v":1,"type":"hello","protocol":"whatifd-exec/1","runner_name":"test","runner_version":"1.2","capabilities":[]}`

// runner behaves as its mode says, and otherwise as the protocol wants it.
func runner(mode string) int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	if file, ok := strings.CutPrefix(mode, "transcript:"); ok {
		return transcriptRunner(file, in)
	}
	switch mode {
	case "silent":
		select {}
	case "half a line":
		fmt.Print(`{"v":1,"type":`)
		select {}
	case "another protocol":
		say(`{"v":1,"type":"hello","protocol":"other/1"}`)
	case "frames of version 99":
		say(`{"v":99,"type":"hello","protocol":"whatifd-exec/1"}`)
	case "garbage first":
		say("starting up")
	case "ends at once":
		fmt.Fprintln(os.Stderr, "cannot start: no config")
		return 3
	case "without names":
		say(`{"type":"hello","protocol":"whatifd-exec/1"}`)
	default:
		say(hello)
	}
	if mode == "deaf" {
		select {}
	}
	if mode == "ignores TERM" {
		signal.Ignore(syscall.SIGTERM)
	}
	if mode == "leaves a child" {
		cmd := exec.Command("sleep", "1000")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return 4
		}
		fmt.Fprintf(os.Stderr, "child %d\n", cmd.Process.Pid)
	}
	replays := 0
	for in.Scan() {
		f, err := contract.Object(in.Bytes())
		if err != nil {
			if mode == "falls over garbage" {
				return 5
			}
			continue
		}
		kind, _ := contract.String(f["type"])
		id, _ := contract.String(f["request_id"])
		switch kind {
		case "hello_ack":
			continue
		case "shutdown":
			switch mode {
			case "ignores shutdown", "ignores TERM":
				select {}
			case "ends with 9":
				return 9
			}
			return 0
		case "replay_request":
		default:
			if mode != "answers everything" {
				continue
			}
		}
		replays++
		var input struct {
			TraceInput contract.TraceInput `json:"trace_input"`
		}
		_ = json.Unmarshal(in.Bytes(), &input)
		message := input.TraceInput.UserMessage
		answer := func(id, text string) {
			say(`{"v":1,"type":"replay_response","request_id":%q,"output":{"text":%q}}`, id, text)
		}
		switch {
		case mode == "wedges" && message == "wedge":
			select {}
		case mode == "another id":
			answer("r-999999", message)
		case mode == "no ids" || id == "":
			say(`{"type":"replay_response","output":{"text":%q}}`, message)
		case mode == "no ids, twice":
			say(`{"type":"replay_response","output":{"text":%q}}`, message)
			say(`{"type":"replay_response","output":{"text":%q}}`, message)
		case mode == "answers twice":
			answer(id, message)
			answer(id, message)
		case mode == "one and no more" && replays > 1:
			return 0
		case mode == "logs a lot":
			fmt.Fprint(os.Stderr, strings.Repeat("log ", 1<<18))
			answer(id, message)
		case mode == "a long line":
			answer(id, strings.Repeat("x", 1<<20))
		case mode == "no object":
			say(`[1]`)
		case mode == "no frame":
			say("done!")
		case mode == "an empty line":
			say("")
		case mode == "a surprise":
			say(`{"v":1,"type":"surprise","request_id":%q}`, id)
		case mode == "bad output":
			say(`{"v":1,"type":"replay_response","request_id":%q,"output":{"text":7}}`, id)
		case mode == "bad lookup":
			say(`{"v":1,"type":"tool_lookup","request_id":%q,"lookup_id":"L1","tool_name":"search","args":[]}`, id)
		case mode == "errors":
			say(`{"v":1,"type":"replay_error","request_id":%q,"code":%q,"message":"why","retryable":true,"details":{"a":1}}`, id, message)
		case mode == "dies":
			return 0
		case mode == "needs its tool":
			say(`{"v":1,"type":"tool_lookup","request_id":%q,"lookup_id":"L1","tool_name":"search","args":{"q":"whatifd-exec-check"}}`, id)
			in.Scan()
			if r, _ := contract.Object(in.Bytes()); string(r["hit"]) == "true" {
				answer(id, message)
			} else {
				say(`{"v":1,"type":"replay_error","request_id":%q,"code":"tool_cache_miss","message":"no answer"}`, id)
			}
		case mode == "asks for tools" || strings.Contains(message, "use a tool"):
			say(`{"v":1,"type":"tool_lookup","request_id":%q,"lookup_id":"L1","tool_name":"search","args":{"q":"whatifd-exec-check"}}`, id)
			in.Scan()
			r, _ := contract.Object(in.Bytes())
			answer(id, fmt.Sprintf("%s: hit %s, %s%s", message, r["hit"], r["output"], r["output_json"]))
		default:
			answer(id, message)
		}
	}
	if mode == "outlives its input" {
		select {}
	}
	return 0
}

// lane opens a runner of a mode.
func config(mode string) Config {
	return Config{
		Argv: []string{os.Args[0]}, Env: append(os.Environ(), "EXECLANE_RUNNER="+mode),
		Hello: 30 * time.Second, ReplayTimeout: 30 * time.Second, Shutdown: 30 * time.Second, MaxLine: 1 << 19,
	}
}

func open(t *testing.T, c Config) *Lane {
	t.Helper()
	l, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func noTool(string, json.RawMessage) Answer { return Answer{} }

func ask(t *testing.T, l *Lane, message string) (string, error) {
	t.Helper()
	r, err := l.Replay(t.Context(), contract.TraceInput{UserMessage: message}, contract.ReplayConfig{}, noTool)
	return r.Output.Text, err
}

// Nothing that a runner does may give one run the answer of another.
func TestEachRunHasItsOwnAnswer(t *testing.T) {
	for mode, want := range map[string]struct {
		restarts int
		failed   string // of the second run
	}{
		"good": {}, "without names": {}, "logs a lot": {}, "answers everything": {}, "leaves a child": {}, "no ids": {restarts: 4}, "no ids, twice": {restarts: 4}, "answers twice": {restarts: -1},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := open(t, config(mode))
			for i := range 5 {
				message := "message " + strconv.Itoa(i)
				text, err := ask(t, l, message)
				var failed *Failure
				if mode == "answers twice" && errors.As(err, &failed) && failed.Code == ProtocolError {
					continue // the second answer came while the next was asked for: the runner is ended, nothing is mixed up
				}
				if err != nil || text != message {
					t.Fatalf("%q: %q %v", message, text, err)
				}
			}
			if want.restarts >= 0 && l.Restarts() != want.restarts {
				t.Errorf("%d restarts, want %d", l.Restarts(), want.restarts)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALaneSaysWhatWentWrong(t *testing.T) {
	for mode, want := range map[string]string{
		"another id": "request", "a long line": "too long", "no object": "no JSON object", "no frame": "no JSON object", "an empty line": "no JSON object", "a surprise": "surprise",
		"bad output": "output.text", "bad lookup": "tool_lookup", "dies": "ended",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := open(t, config(mode))
			_, err := ask(t, l, "x")
			var failed *Failure
			if !errors.As(err, &failed) || failed.Code != ProtocolError || !strings.Contains(failed.Message, want) || failed.Retryable {
				t.Fatalf("%v", err)
			}
			if raw, _ := failed.Details["raw_excerpt"].(string); len(raw) > excerpt {
				t.Errorf("an excerpt of %d bytes", len(raw))
			}
			if _, err := ask(t, l, "x"); !errors.As(err, &failed) || l.Restarts() != 1 {
				t.Errorf("the second run: %v, %d restarts", err, l.Restarts())
			}
		})
	}
}

func TestARunnerThatHangsIsStartedAgain(t *testing.T) {
	c := config("wedges")
	c.ReplayTimeout = 300 * time.Millisecond
	l := open(t, c)
	first := l.child.cmd.Process.Pid
	_, err := ask(t, l, "wedge")
	var failed *Failure
	if !errors.As(err, &failed) || failed.Code != Timeout || !failed.Retryable || failed.Details["timeout_seconds"] != 0.3 {
		t.Fatalf("%v", err)
	}
	if !leaves(first) {
		t.Error("the runner that hung is still there")
	}
	l.config.ReplayTimeout = 30 * time.Second
	if text, err := ask(t, l, "next"); err != nil || text != "next" || l.Restarts() != 1 {
		t.Errorf("%q %v, %d restarts", text, err, l.Restarts())
	}
}

func TestARunnerThatTakesNothingIsATimeout(t *testing.T) {
	c := config("deaf")
	c.ReplayTimeout = 300 * time.Millisecond
	l := open(t, c)
	_, err := ask(t, l, strings.Repeat("x", 1<<20)) // more than a pipe holds
	var failed *Failure
	if !errors.As(err, &failed) || failed.Code != Timeout {
		t.Fatalf("%v", err)
	}
}

func TestErrorsOfARunnerKeepTheirCode(t *testing.T) {
	l := open(t, config("errors"))
	for said, want := range map[string]string{CacheMiss: CacheMiss, Exception: Exception, "out_of_cheese": Exception} {
		_, err := ask(t, l, said)
		var failed *Failure
		if !errors.As(err, &failed) || failed.Code != want || failed.Message != "why" || !failed.Retryable {
			t.Fatalf("%s: %v", said, err)
		}
		if said != want && failed.Details["child_code"] != said {
			t.Errorf("details %v", failed.Details)
		}
	}
	if l.Restarts() != 0 {
		t.Error("an error is no reason to start a runner again")
	}
}

func TestARunnerThatCannotBeginIsASetupError(t *testing.T) {
	for mode, want := range map[string]string{
		"silent": "no hello", "half a line": "no hello", "another protocol": "other/1", "frames of version 99": "99", "garbage first": "no JSON object", "ends at once": "cannot start: no config",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := config(mode)
			if strings.HasPrefix(want, "no hello") {
				c.Hello = 300 * time.Millisecond
			}
			if _, err := Open(t.Context(), c); !errors.Is(err, ErrSetup) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	for _, argv := range [][]string{nil, {""}, {"/no/such/runner"}} {
		if _, err := Open(t.Context(), Config{Argv: argv}); !errors.Is(err, ErrSetup) {
			t.Errorf("%q: %v", argv, err)
		}
	}
}

// leaves waits until nothing of a process group is there: what was ended stays until its parent, here init, has taken note.
func leaves(pid int) bool {
	for range 3000 {
		if syscall.Kill(-pid, 0) != nil {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func TestNothingOfARunnerStays(t *testing.T) {
	for mode, asks := range map[string]bool{"leaves a child": true, "ignores shutdown": false, "ignores TERM": false, "ends with 9": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := config(mode)
			c.Shutdown, c.grace = 100*time.Millisecond, 100*time.Millisecond
			if asks {
				c.Shutdown = 30 * time.Second
			}
			l := open(t, c)
			pid := l.child.cmd.Process.Pid
			if _, err := ask(t, l, "x"); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); (err == nil) != asks {
				t.Errorf("%v", err)
			}
			if !leaves(pid) {
				t.Error("something of the group is still there")
			}
		})
	}
}

func TestTheContextEndsAReplay(t *testing.T) {
	l := open(t, config("wedges"))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := l.Replay(ctx, contract.TraceInput{UserMessage: "wedge"}, contract.ReplayConfig{}, noTool); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestLookupsAreAlwaysAnswered(t *testing.T) {
	l := open(t, config("asks for tools"))
	text := "it's \u00e9"
	for _, c := range []struct {
		answer Answer
		want   string
		misses []string
	}{
		{Answer{Text: &text}, `x: hit true, "it's \u00e9"`, nil}, {Answer{JSON: json.RawMessage(`{"a":null}`)}, `x: hit true, {"a":null}`, nil}, {Answer{}, "x: hit false, ", []string{"search"}},
	} {
		r, err := l.Replay(t.Context(), contract.TraceInput{UserMessage: "x"}, contract.ReplayConfig{}, func(tool string, args json.RawMessage) Answer {
			if tool != "search" || string(args) != probeArgs {
				t.Errorf("%s %s", tool, args)
			}
			return c.answer
		})
		if err != nil || r.Output.Text != c.want || !reflect.DeepEqual(r.Misses, c.misses) {
			t.Errorf("%q %v %v", r.Output.Text, r.Misses, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for mode, want := range map[string]struct {
		conforms bool
		fails    []string
	}{
		"good": {true, nil}, "needs its tool": {true, nil}, "without names": {true, []string{"identity"}}, "no ids": {true, []string{"request_id"}}, "falls over garbage": {true, []string{"garbage"}},
		"answers everything": {true, []string{"unknown frame"}}, "ends with 9": {false, []string{"shutdown"}}, "another protocol": {false, []string{"handshake"}}, "dies": {false, []string{"replay"}},
		"outlives its input": {true, []string{"end of input"}}, "one and no more": {false, []string{"second replay"}},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := config(mode)
			if mode == "outlives its input" {
				c.eof = 300 * time.Millisecond
			}
			probes := Check(t.Context(), c)
			var fails []string
			for _, p := range probes {
				if p.Outcome == Fail {
					fails = append(fails, p.Name)
				}
			}
			if Conforms(probes, false) != want.conforms || !reflect.DeepEqual(fails, want.fails) {
				t.Errorf("%+v", probes)
			}
		})
	}
}

// record is a line of a transcript of the reference runner of whatifd, spoken by hand.
type record struct {
	Dir    string
	Line   string
	EOF    bool
	Exit   *int
	Silent float64 `json:"silent_for_s"`
	Meta   *struct{ Scenario string }
}

func transcript(file string) (records []record, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for text := range strings.Lines(string(data)) {
		var r record
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// generic is a frame without what differs between its senders: the id of a request becomes its place in the sequence.
func generic(text string, ids map[string]int) any {
	var v map[string]any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	if id, ok := v["request_id"].(string); ok {
		if _, known := ids[id]; !known {
			ids[id] = len(ids)
		}
		v["request_id"] = ids[id]
	}
	delete(v, "session_id")
	return v
}

// transcriptRunner is the runner of a transcript: it says its lines, and wants those of the other side.
func transcriptRunner(file string, in *bufio.Scanner) int {
	records, err := transcript(file)
	if err != nil {
		return 90
	}
	recorded, live, last := map[string]int{}, map[string]int{}, ""
	for _, r := range records {
		switch {
		case r.Exit != nil:
			return *r.Exit
		case r.Dir == "child->parent" && r.Line != "":
			fmt.Println(strings.NewReplacer(`"r-0"`, strconv.Quote(last), `"r-1"`, strconv.Quote(last), `"r-2"`, strconv.Quote(last)).Replace(r.Line))
		case r.Dir == "parent->child" && r.EOF:
			if in.Scan() {
				return 91
			}
		case r.Dir == "parent->child":
			if !in.Scan() {
				return 92
			}
			if got, want := generic(in.Text(), live), generic(r.Line, recorded); !reflect.DeepEqual(got, want) {
				fmt.Fprintf(os.Stderr, "got %v\nwant %v\n", got, want)
				return 93
			}
			if f, err := contract.Object(in.Bytes()); err == nil && f["request_id"] != nil {
				last, _ = contract.String(f["request_id"])
			}
		}
	}
	return 94
}

func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/node-*.ndjson")
	if err != nil || len(files) != 10 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "node-"), ".ndjson")
		t.Run(name, func(t *testing.T) {
			records, err := transcript(file)
			if err != nil {
				t.Fatal(err)
			}
			l := open(t, config("transcript:"+file))
			ended := false
			for i := 0; i < len(records); i++ {
				r := records[i]
				kind := ""
				if f, err := contract.Object([]byte(r.Line)); err == nil {
					kind, _ = contract.String(f["type"])
				}
				switch {
				case r.Dir != "parent->child" || kind == "hello_ack" || kind == "tool_result":
				case r.EOF:
					_ = l.child.in.Close()
					ended = true
				case kind == "shutdown":
					if err := l.Close(); err != nil {
						t.Errorf("%v\n%s", err, l.Log())
					}
				case kind != "replay_request" || name == "unanswered-lookup":
					// What this program never sends: garbage, frames of another protocol, a request while it owes an answer. The
					// transcript shows how the reference runner takes it.
					if err := l.child.sendText(t.Context(), r.Line); err != nil {
						t.Fatal(err)
					}
					for ; i+1 < len(records) && records[i+1].Dir == "child->parent" && records[i+1].Line != ""; i++ {
						if _, err := l.child.receive(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
				default:
					replayTranscript(t, l, records[i:])
				}
			}
			if ended && !within(l.child.done, 30*time.Second) {
				t.Error("the runner did not end with its input")
			}
		})
	}
}

// replayTranscript replays the run that the first record asks for, and compares the answer.
func replayTranscript(t *testing.T, l *Lane, records []record) {
	t.Helper()
	var request struct {
		Input contract.TraceInput `json:"trace_input"`
	}
	if err := json.Unmarshal([]byte(records[0].Line), &request); err != nil {
		t.Fatal(err)
	}
	var result struct {
		Output     *string
		OutputJSON json.RawMessage `json:"output_json"`
	}
	want := ""
	for _, r := range records[1:] {
		f, err := contract.Object([]byte(r.Line))
		if err != nil {
			break
		}
		kind, _ := contract.String(f["type"])
		if kind == "tool_result" {
			if err := json.Unmarshal([]byte(r.Line), &result); err != nil {
				t.Fatal(err)
			}
		}
		if kind == "replay_response" {
			out, err := contract.ReadReplayOutput(f["output"])
			if err != nil {
				t.Fatal(err)
			}
			want = out.Text
			break
		}
	}
	got, err := l.Replay(t.Context(), request.Input, contract.ReplayConfig{}, func(tool string, args json.RawMessage) Answer {
		return Answer{result.Output, result.OutputJSON}
	})
	if err != nil || got.Output.Text != want || want == "" {
		t.Errorf("%q %v, want %q\n%s", got.Output.Text, err, want, l.Log())
	}
}

func FuzzFrames(f *testing.F) {
	for _, s := range []string{hello, `{"type":"replay_response","request_id":"r-000001","output":{"text":"x","tool_spans":[{"name":"a"}]}}`, `{"type":7}`, "\xff", `{"type":"tool_lookup","tool_name":"x","args":{}}`, `[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		k := &child{lines: make(chan line, 1)}
		k.lines <- line{text: text}
		got, err := k.receive(t.Context())
		if err == nil && got.kind == "replay_error" {
			if failure := childError(&got); failure.Code == "" {
				t.Errorf("%q has no code", text)
			}
		}
		var v *violation
		if errors.As(err, &v) && v.failure().Code != ProtocolError {
			t.Errorf("%v", err)
		}
	})
}
