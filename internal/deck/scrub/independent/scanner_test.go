// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package independent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
)

// pinned is the version of gitleaks that .ci/run installs.
const pinned = "go install github.com/zricethezav/gitleaks/v8@v8.30.1"

// A key that gitleaks knows by its form, made up.
const key = "ghp_" + "a8Zk2Lq9Xw4Rt7Yp1Vb6Nm3Cd5Fg0Hj8Ks2L"

func script(t *testing.T, text string) *Scanner {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script")
	}
	path := filepath.Join(t.TempDir(), "scanner")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// search searches one object, and says what is left in the folder of temporary files.
func search(t *testing.T, ctx context.Context, s *Scanner, timeout time.Duration, key string, body []byte) ([]Finding, error) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	run, err := s.Search(timeout)
	if err != nil {
		t.Fatal(err)
	}
	found, err := run.Add(ctx, "deck/"+key, key, body)
	if err == nil && found != nil {
		t.Error("one small object is no batch")
	}
	if err == nil {
		found, err = run.Flush(ctx)
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	return found, err
}

// partWith is evidence with one span that holds a text.
func partWith(t *testing.T, name, text string) []byte {
	t.Helper()
	td := ptrace.NewTraces()
	span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.Attributes().PutStr("before", strings.Repeat("plain text\n", 50_000)) // scanners read long files in pieces
	span.Attributes().PutStr(name, text)
	raw, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	pack, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return pack.EncodeAll(raw, nil)
}

func TestGitleaksFindsWhatIsEncodedAndSaysWhere(t *testing.T) {
	known, err := openKnown(Gitleaks, decktest.Program(t, "TAPEDECK_TEST_GITLEAKS", Gitleaks, pinned))
	if err != nil {
		t.Fatal(err)
	}
	span := `$["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"][1]`
	for _, c := range []struct {
		name, key string
		body      []byte
		want      []string
	}{
		{"JSON in JSON, escaped", "tape.json", []byte(`{"a":["x",{"args":"{\"to\\u006ben\":\"\u0067hp_` + key[4:] + `\"}"}]}`), []string{`$["a"][1]["args"]`, `$["a"][1]["args"]["token"]`}},
		{"a part", "p" + deck.PartSuffix, partWith(t, "output", "first\nand "+key+" there"), []string{span + `["output"]`}},
		{"a comment that tells it to look away", "notes.txt", []byte("one\nuse " + key + " # gitleaks:allow\n"), []string{"line 2"}},
		{"a name", "tape.json", []byte(`{"` + key + `":{"x":"y"}}`), []string{aName}},
		{"under such a name", "tape.json", []byte(`{"` + key + `":{"x":"` + key + `"}}`), []string{hiddenPath, aName}},
		{"words of a list", "tape.json", []byte(`["` + key[:20] + `","` + key[20:] + `"]`), []string{"$"}},
		{"nothing but digests and tokens", "tape.json", []byte(`{"api_key":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","token":"[REDACTED:secret-by-key:abcdefghijklmnopqrstuvwxya]"}`), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := search(t, t.Context(), known, time.Minute, c.key, c.body)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				if f.URL != "deck/"+c.key {
					t.Errorf("%+v", f)
				}
				if len(got) == 0 || got[len(got)-1] != f.Path {
					got = append(got, f.Path)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TruffleHog is no program that "go install" builds, so nobody is made to have it.
func TestTruffleHogFindsAKey(t *testing.T) {
	s, err := Open(TruffleHog)
	if err != nil {
		t.Skip("CI has none; that a real one finds a key was not tried: ", err)
	}
	found, err := search(t, t.Context(), s, time.Minute, "notes.txt", []byte("one\ntoken "+key+"\n"))
	if err != nil || len(found) == 0 || found[0].Path != "line 2" {
		t.Errorf("%v %v", found, err)
	}
}

// What TruffleHog 3 writes, by its documentation: messages of its log come in between.
func TestReportsOfTruffleHogAreRead(t *testing.T) {
	got, err := readTruffleHog([]byte(`{"level":"info-0","ts":"2024-01-01","msg":"running source"}
{"SourceMetadata":{"Data":{"Filesystem":{"file":"./000001.txt","line":7}}},"SourceID":1,"DetectorType":8,"DetectorName":"Github","Verified":false,"Raw":"` + key + `"}
`))
	if diff := cmp.Diff([]reported{{"000001.txt", 7, "Github"}}, got, cmp.AllowUnexported(reported{})); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestAProgramOfTheUserFindsByItsContract(t *testing.T) {
	s := script(t, `grep -rn zebra "$1" | while IFS=: read -r file line rest; do printf '{"file":"%s","line":%s,"rule":"animal"}\n' "$file" "$line"; done`)
	found, err := search(t, t.Context(), s, time.Minute, "tape.json", []byte(`{"a":"cat","b":["{\"c\":\"a z\\u0065bra\"}"]}`))
	want := []Finding{{"deck/tape.json", `$["b"][0]["c"]`, "animal"}}
	if diff := cmp.Diff(want, found); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestAScannerThatFailsIsNoAllClear(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"it fails":               {"echo " + key + "; echo " + key + " >&2; exit 3", "exit status 3"},
		"another report":         {"echo " + key, "cannot be read"},
		"files it was not given": {`echo '{"file":"/etc/` + key + `","line":1,"rule":"x"}'`, "not given"},
		"endless output":         {"yes " + key, "is longer than"},
		"no end":                 {"exec tail -f /dev/null", "did not end within"},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := time.Minute
			if name == "no end" {
				timeout = time.Millisecond
			}
			found, err := search(t, t.Context(), script(t, c.script), timeout, "notes.txt", []byte("text"))
			if err == nil || found != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v", found, err)
			}
			if err != nil && strings.Contains(err.Error(), key) {
				t.Error("the error shows what the scanner said")
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := search(t, ctx, script(t, "exit 0"), time.Minute, "notes.txt", []byte("text")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A rule is a name. A program that writes the value there does not have it printed.
func TestRulesThatAreNoNamesAreNotShown(t *testing.T) {
	s := script(t, `echo '{"file":"000000.txt","line":1,"rule":"it is `+key+`"}{"file":"000000.txt","line":99999,"rule":"x"}'`)
	found, err := search(t, t.Context(), s, time.Minute, "notes.txt", []byte("text"))
	if err != nil || len(found) != 2 || found[0].Rule != "unnamed" || !strings.Contains(found[1].Path, "does not tell") {
		t.Errorf("%v %v", found, err)
	}
}

func TestAScannerLearnsNoCredentialsOfOurs(t *testing.T) {
	got := environment([]string{"PATH=/bin", "AWS_SECRET_ACCESS_KEY=x", "TAPEDECK_REDACTION_KEY=x", "GITLEAKS_CONFIG=c", "Path=y"})
	if diff := cmp.Diff([]string{"PATH=/bin", "GITLEAKS_CONFIG=c", "Path=y"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, with := range []string{Gitleaks, TruffleHog, t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, err := Open(with); err == nil {
			t.Errorf("%s is there", with)
		}
	}
}

// A large deck does not lie in the folder at once.
func TestTextsAreSearchedInBatches(t *testing.T) {
	s := script(t, `ls "$1" | while read -r f; do printf '{"file":"%s","line":1,"rule":"seen"}\n' "$f"; done`)
	run, err := s.Search(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	run.most = 2000
	body := []byte(strings.Repeat("text ", run.most/10))
	var early []Finding
	for range 3 {
		found, err := run.Add(t.Context(), "deck/a", "a", body)
		if err != nil {
			t.Fatal(err)
		}
		early = append(early, found...)
	}
	late, err := run.Flush(t.Context())
	if err != nil || len(early) == 0 || len(late) == 0 {
		t.Errorf("%d, %d, %v", len(early), len(late), err)
	}
}

func FuzzReports(f *testing.F) {
	f.Add([]byte(`[{"RuleID":"r","File":"000000.txt","StartLine":1}]`))
	f.Add([]byte(`{"file":"000000.txt","line":-1,"rule":"r"}`))
	f.Add([]byte(`{"SourceMetadata":{"Data":{"Filesystem":{"file":"a","line":7}}},"DetectorName":"x"}`))
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, read := range []func([]byte) ([]reported, error){readGitleaks, readTruffleHog, readContract} {
			found, err := read(out)
			if err != nil && !errors.Is(err, errReport) {
				t.Error(err)
			}
			x := &text{paths: []string{"a"}, names: map[string]int{"n": 0}}
			for _, r := range found {
				if n := len(x.places([]int{r.line})); n != 1 {
					t.Errorf("%d places", n)
				}
			}
		}
	})
}

func FuzzTextHasAPathForEachLine(f *testing.F) {
	f.Add([]byte(`{"a":"b\nc","d":["e","{\"f\":1}"]} {"key":"k","value":{"stringValue":"v"}}`))
	f.Add([]byte("no JSON\r\nat all"))
	f.Fuzz(func(t *testing.T, body []byte) {
		x, err := textOf("u", "k", body)
		if err != nil {
			return
		}
		if lines := strings.Count(x.lines.String(), "\n"); lines != len(x.paths) {
			t.Errorf("%d lines, %d paths", lines, len(x.paths))
		}
	})
}
