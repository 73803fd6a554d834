// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package normalise

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var ranAt = time.Date(2026, 11, 27, 21, 49, 37, 0, time.UTC)

func at(now time.Time) *Volatile {
	return &Volatile{From: ranAt, To: ranAt.Add(time.Minute), Now: func() time.Time { return now }}
}

// TestVolatileFormsAreRead has pairs of lines of one program, of which the second is of a run a day later,
// and how many values differ.
func TestVolatileFormsAreRead(t *testing.T) {
	v := at(ranAt.AddDate(0, 0, 1))
	for _, c := range []struct {
		recorded, live, form string
		values               int
	}{
		{"Today's date is 2026-11-27.", "Today's date is 2026-11-28.", "date", 1},
		{"Today is Friday, November 27, 2026 (formatted)", "Today is Saturday, November 28, 2026 (formatted)", "date", 1},
		{"date: Fri Nov 27 2026", "date: Sat Nov 28 2026", "date", 1},
		{"on 11/27/2026", "on 11/28/2026", "date", 1},
		{"2026-11-27T16:23:58.257+00:00", "2026-11-28T16:24:06.723+00:00", "time", 1},
		{"Fri Nov 27 21:49:37 UTC 2026", "Sat Nov 28 03:04:05 UTC 2026", "time", 1},
		{"-rw-r--r-- 1 dev dev 71 Nov 27 21:49 README.md", "-rw-r--r-- 1 dev dev 71 Nov 28 09:12 README.md", "time", 1},
		{"backup-20261127-214937.tar", "backup-20261128-010203.tar", "time", 1},
		{"11/27/2026, 9:49:37 PM", "11/28/2026, 10:00:01 AM", "time", 1},
		{"Fri, 27 Nov 2026 21:49:37 GMT", "Sat, 28 Nov 2026 21:50:00 GMT", "time", 1},
		{"started_at 1795796200", "started_at 1795882600", "epoch", 1},
		{"started_at 1795796200712", "started_at 1795882600001", "epoch", 1},
		{"Process Group PGID: 16738", "Process Group PGID: 7", "process id", 1},
		{"[1] 4711", "[1] 38", "process id", 1},
		{"/proc/4711/status", "/proc/38/status", "process id", 1},
		{"Chunk ID: 2efcf7", "Chunk ID: b0aad7", "id", 1},
		{"Your ID is `code-puppy-72f55b`.", "Your ID is `code-puppy-8d71ba`.", "id", 1},
		{"Process running with session ID 57493", "Process running with session ID 121", "id", 1},
		{"see req_011CTq8xYz3Ab9", "see req_017Kx0aaB1Cd2E", "id", 1},
		{"01a21dcb-6d2f-7751-8467-7efaad7dec7c", "01a21dcb-6d2f-7751-8467-7f01d37f390e", "uuid", 1},
		{"token count: 49\nkey [REDACTED:email:abc]", "token count: 73\nkey [REDACTED:email:abc]", "size of a redacted text", 1},
		{"3 passed in 0.12s", "3 passed in 0.09s", "duration", 1},
		{"real\t0m0.003s", "real\t0m1.250s", "duration", 1},
		{"<main.Foo object at 0x7f3a10c9e2d0>", "<main.Foo object at 0x7f3b20c9e2d0>", "address", 1},
		{"Original token count: 49\nkey [REDACTED:x:abc]", "Original token count: 71\nkey [REDACTED:x:abc]", "size of a redacted text", 1},
		{"Recent commits:\n0395201 init", "Recent commits:\na5468cc init", "commit", 1},
		{"commit f1d2d2f924e986ac86fdf7b36c94bcdf32beec15", "commit e242ed3bffccdf271b7fbaf34ed72d089537b42f", "commit", 1},
		{"[main (root-commit) 0395201] init", "[main (root-commit) 77e0d2c] init", "commit", 1},
		{"pytest in /tmp/pytest-of-dev/pytest-12/x", "pytest in /tmp/pytest-of-dev/pytest-3/x", "temporary path", 1},
		{"cwd /var/folders/x1/abcd/T/tmp.8Gk2mQ1z", "cwd /var/folders/x1/abcd/T/tmp.0aZk31qq", "temporary path", 1},
	} {
		text, pairs := v.Text(Output, nil, nil, c.recorded, c.live)
		if text != c.recorded || len(pairs) != c.values || pairs[0].Form != c.form {
			t.Errorf("%q: %q %+v", c.recorded, text, pairs)
		}
	}
	for recorded, live := range map[string]string{
		"version 1.2.3": "version 1.2.4", "line 12": "line 13", "2024-01-01": "2024-01-02", "on 2026-11-27": "on 2026/11/28", "timeout 30 s": "timeout 60 s", "token count: 49": "token count: 73", "49 lines of [REDACTED:email:abc]": "73 lines of [REDACTED:email:abc]",
		"1500000000": "1600000000", "cafebabe": "deadbeef", "/tmp/out/a": "/tmp/in/a", "2026-13-45": "2026-13-46",
		"/tmp/report-final": "/tmp/report-draft", "call_0123456789abcd": "toolu_0123456789ab",
		"1048576 notes.txt": "1048577 notes.txt", "key sk1_0123456789abcd": "key sk1_0123456789abce", "aGVsbG8gd29ybGQgMTIzNDU2": "aGVsbG8gd29ybGQgMTIzNDU3",
	} {
		if text, pairs := v.Text(Output, nil, nil, recorded, live); text == recorded {
			t.Errorf("%q is taken for %q: %+v", live, recorded, pairs)
		}
	}
}

// TestNumbersUnderNamesAreVolatile compares JSON, of which the names say what the numbers are.
func TestNumbersUnderNamesAreVolatile(t *testing.T) {
	v := at(ranAt)
	value := func(place Place, a, b string) (bool, []Pair) {
		x, pairs := v.Value(place, nil, parse(t, a), parse(t, b))
		return x.Equal(parse(t, a)), pairs
	}
	for _, c := range []struct {
		place Place
		a, b  string
		same  bool
	}{
		{Output, `{"pid":4711,"ok":true}`, `{"pid":38,"ok":true}`, true},
		{Output, `{"session_id":"a81k2"}`, `{"session_id":"b93x7"}`, true},
		{Output, `{"duration_ms":12.5}`, `{"duration_ms":9}`, true},
		{Output, `{"execution_time":0.0046}`, `{"execution_time":0.101}`, true},
		{Output, `{"content":"key [REDACTED:x:abc]","file_size":49}`, `{"content":"key [REDACTED:x:abc]","file_size":71}`, true},
		{Output, `{"content":"key [REDACTED:x:abc]","lines":49}`, `{"content":"key [REDACTED:x:abc]","lines":71}`, false},
		{Output, `{"content":"key","file_size":49}`, `{"content":"key","file_size":71}`, false},
		{Prompt, `{"content":"key [REDACTED:x:abc]","file_size":49}`, `{"content":"key [REDACTED:x:abc]","file_size":71}`, false},
		{Output, `{"created":1795796200}`, `{"created":1795796300}`, true},
		{Output, `"{\"pid\":1,\"a\":[\"at 2026-11-27T10:00:00Z\"]}"`, `"{\"pid\":2,\"a\":[\"at 2026-11-27T11:00:00Z\"]}"`, true},
		{Output, `{"count":4711}`, `{"count":38}`, false},
		{Output, `{"pid":4711,"count":1}`, `{"pid":38,"count":2}`, false},
		{Prompt, `{"duration_ms":12}`, `{"duration_ms":9}`, false},
		{Said, `{"pid":4711}`, `{"pid":38}`, false},
		{Output, `[1,{"pid":3}]`, `[1]`, false},
	} {
		if same, pairs := value(c.place, c.a, c.b); same != c.same {
			t.Errorf("%s and %s: %v %+v", c.a, c.b, same, pairs)
		}
	}
	// What a model says is volatile where the renaming has it.
	known := &Renaming{}
	const a, b = "0a3f1c55-3a0e-4c1b-9c51-0d4c1f0e7a11", "7be0d3a2-91f4-4d0b-8f62-5a6f0c2d9b42"
	if text, _ := v.Text(Said, known, nil, "see "+a, "see "+b); text != "see "+b {
		t.Errorf("%q", text)
	}
	if _, pairs := v.Text(Prompt, known, nil, a, b); !known.Take(pairs) {
		t.Error("the pair is refused")
	}
	if text, _ := v.Text(Said, known, nil, "see "+a, "see "+b); text != "see "+a {
		t.Errorf("%q", text)
	}
	if known.Take([]Pair{{Form: "uuid", Recorded: a, Live: a}}) || known.Take([]Pair{{Form: "uuid", Recorded: b, Live: b}}) {
		t.Error("one name has two others")
	}
}

func TestMendProposesTheSmallestRules(t *testing.T) {
	text := func(s string) string { return exactjson.StringValue(s).JSON() }
	for _, c := range []struct{ a, b, want string }{
		{text("id 0a3f1c55-3a0e-4c1b-9c51-0d4c1f0e7a11"), text("id 7be0d3a2-91f4-4d0b-8f62-5a6f0c2d9b42"), `- {tool: "sh", path: "$", action: normalise, as: uuid, in: [result]}`},
		{`{"a":{"n":1},"b":2}`, `{"a":{"n":7},"b":2}`, `- {tool: "sh", path: "$.a.n", action: normalise, as: number, in: [result]}`},
		{text("one\nfound 3 of them\nend"), text("one\nfound 4 of them\nend"), `- {tool: "sh", path: "$", action: normalise, pattern: "found \\S+", in: [result]}`},
		{text(`{"x":"left","y":1}`), text(`{"x":"right","y":1}`), `- {tool: "sh", path: "$.x", action: ignore, in: [result]}`},
		{text("left"), text("right side"), ""},
		{`[1,2]`, `[1,2,3]`, ""},
		{text("a 1\nb 2\nc 3\nd 4\ne 5"), text("a 6\nb 7\nc 8\nd 9\ne 0"), ""},
	} {
		rules := Mend("sh", "result", parse(t, c.a), parse(t, c.b))
		var lines []string
		for i := range rules {
			lines = append(lines, rules[i].YAML())
		}
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s and %s: %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

// FuzzVolatile explains any two texts: what it explains is made of the live text by replacing values of known
// forms, and everything it takes is one to one.
func FuzzVolatile(f *testing.F) {
	f.Add("at 2026-11-27T10:00:00Z pid 4 in /tmp/tmpaaaa1111", "at 2026-11-27T12:00:00Z pid 9 in /tmp/tmpbbbb2222")
	f.Add("Nov 27 21:49 a.go\nNov 27 21:50 b.go", "Nov 27 21:50 b.go\nNov 27 21:49 a.go")
	f.Add("0a3f1c55-3a0e-4c1b-9c51-0d4c1f0e7a11 [1] 12", "7be0d3a2-91f4-4d0b-8f62-5a6f0c2d9b42 [1] 13")
	v := at(ranAt)
	f.Fuzz(func(t *testing.T, recorded, live string) {
		for _, place := range []Place{Said, Prompt, Output} {
			text, pairs := v.Text(place, nil, nil, recorded, live)
			if text != live && len(pairs) == 0 {
				t.Fatalf("%q became %q without a pair", live, text)
			}
			if text2, _ := v.Text(place, nil, nil, recorded, recorded); text2 != recorded {
				t.Fatalf("%q is not explained by itself", recorded)
			}
			to, from := map[string]string{}, map[string]string{}
			for _, p := range pairs {
				if p.measured {
					continue
				}
				a, b := p.key(p.Recorded), p.key(p.Live)
				if known, there := to[a]; there && known != b {
					t.Fatalf("%q is %q and %q", a, known, b)
				}
				if known, there := from[b]; there && known != a {
					t.Fatalf("%q and %q are %q", a, known, b)
				}
				to[a], from[b] = b, a
			}
			if place == Said && text != live {
				t.Fatalf("%q, which somebody said, became %q", live, text)
			}
		}
	})
}

var update = flag.Bool("update", false, "write generated tables anew")

func TestTheTableOfVolatileFormsIsCurrent(t *testing.T) {
	const path, begin, end = "../../docs/replay.md", "<!-- volatile -->\n", "<!-- /volatile -->"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("no place for the table")
	}
	switch want := before + begin + VolatileTable() + end + after; {
	case want == string(data):
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("docs/replay.md is not current: go test ./tape/normalise -update")
	}
}
