// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package forgeaudit_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge/forgeaudit"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
)

const corpus = "../../../../../../testdata/corpus/forge/"

func lines(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func keys(t testing.TB) forgeaudit.Keys {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus, "audit.jwks.json"))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := forgeaudit.ReadKeys(data)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func closed(t testing.TB, k forgeaudit.Keys, list []string) forgeaudit.Result {
	t.Helper()
	s := forgeaudit.New(k)
	for i, raw := range list {
		if err := s.Add("in", i+1, raw); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
	}
	return s.Close()
}

func canonical(t testing.TB, r forgeaudit.Result) []byte {
	t.Helper()
	set := evidence.NewSet()
	set.AddLogs(r.Logs)
	b, err := set.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRecordedStreamsVerify: the streams of the real binary hold, by chain and by signature, and every record of a request finds its run.
func TestRecordedStreamsVerify(t *testing.T) {
	all := append(lines(t, "stock-helper.audit.ndjson"), lines(t, "price-helper.audit.ndjson")...)
	r := closed(t, keys(t), all)
	if len(r.Problems) > 0 || r.Unchecked > 0 {
		t.Errorf("%v, %d unchecked", r.Problems, r.Unchecked)
	}
	if got := r.Logs.LogRecordCount(); got != len(all)-r.Left || r.Left != 9 {
		t.Errorf("%d records of %d, %d left", got, len(all), r.Left)
	}
	if r := closed(t, nil, all); len(r.Problems) > 0 || r.Unchecked != len(all) {
		t.Errorf("without keys: %v, %d unchecked", r.Problems, r.Unchecked)
	}
	for _, rl := range r.Logs.ResourceLogs().All() {
		for _, record := range rl.ScopeLogs().At(0).LogRecords().All() {
			if !slices.Contains(all, record.Body().Str()) {
				t.Fatal("a record is not the line as it came")
			}
		}
	}
}

// TestStreamIsASet: order, repetition and division into files change nothing.
func TestStreamIsASet(t *testing.T) {
	all := append(lines(t, "stock-helper.audit.ndjson"), lines(t, "price-helper.audit.ndjson")...)
	all[90] = strings.Replace(all[90], `"schema_version":"1.0"`, `"schema_version":"1.1"`, 1)
	want := canonical(t, closed(t, nil, all))
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		mixed := append(slices.Clone(all), all[rng.IntN(len(all))], all[rng.IntN(len(all))])
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		if !bytes.Equal(want, canonical(t, closed(t, nil, mixed))) {
			t.Fatalf("seed %d gives other evidence", seed)
		}
	}
}

func TestWhatSpeaksAgainstARecordIsSaid(t *testing.T) {
	const big = 79 // the end record with the long result, from 0
	changed := func(list []string) []string {
		list[big] = strings.Replace(list[big], "0123456789", "0123456780", 1)
		return list
	}
	for _, c := range []struct {
		name   string
		change func([]string) []string
		// lines with a problem and their integrity, without keys and with them
		plain, signed map[int]string
	}{
		{"nothing", func(l []string) []string { return l }, nil, nil},
		{"begins and ends in the middle", func(l []string) []string { return l[20:60] }, nil, nil},
		{"changed", changed, map[int]string{80: forge.AuditChainBroken}, map[int]string{80: forge.AuditSignatureInvalid}},
		{"changed, and the beginning is not there", func(l []string) []string { return changed(l)[70:] }, map[int]string{10: forge.AuditChainBroken}, map[int]string{10: forge.AuditSignatureInvalid}},
		{"removed", func(l []string) []string { return slices.Delete(l, big, big+1) }, map[int]string{79: forge.AuditChainBroken}, map[int]string{79: forge.AuditChainBrokenSigned}},
		{"beside another one", func(l []string) []string { return append(changed(slices.Clone(l)), l[big]) },
			map[int]string{80: forge.AuditChainBroken, 162: forge.AuditChainBroken}, map[int]string{80: forge.AuditSignatureInvalid, 162: forge.AuditChainBrokenSigned}},
		{"unsigned", func(l []string) []string {
			l[160] = strings.Replace(l[160], `"sig":`, `"was":`, 1)
			return l
		}, nil, map[int]string{161: forge.AuditUnsigned}},
		{"of a key that was not given", func(l []string) []string {
			l[160] = strings.Replace(l[160], `"kid":"lab-key-1"`, `"kid":"other"`, 1)
			return l
		}, nil, map[int]string{161: forge.AuditSignatureInvalid}},
		{"started again", func(l []string) []string { return append(l[:60], lines(t, "stock-helper.audit.ndjson")[:3]...) }, nil, nil},
	} {
		for _, with := range []struct {
			keys forgeaudit.Keys
			want map[int]string
		}{{nil, c.plain}, {keys(t), c.signed}} {
			list := c.change(lines(t, "stock-helper.audit.ndjson"))
			r := closed(t, with.keys, list)
			got := map[int]bool{}
			for _, p := range r.Problems {
				got[p.Line] = true
			}
			for line := range with.want {
				if !got[line] {
					t.Errorf("%s: nothing is said of line %d: %v", c.name, line, r.Problems)
				}
			}
			if len(got) != len(with.want) {
				t.Errorf("%s: %v", c.name, r.Problems)
			}
			for _, rl := range r.Logs.ResourceLogs().All() {
				for _, record := range rl.ScopeLogs().At(0).LogRecords().All() {
					line := slices.Index(list, record.Body().Str()) + 1
					integrity := ""
					if v, there := record.Attributes().Get(forge.AuditIntegrity); there {
						integrity = v.Str()
					}
					if integrity != with.want[line] {
						t.Errorf("%s: line %d is %q, want %q", c.name, line, integrity, with.want[line])
					}
				}
			}
		}
	}
}

func TestMalformedRecordsAreRefused(t *testing.T) {
	for _, raw := range []string{
		"", "x", "[]", "{}", `{"event":"e","schema_version":"1.0"}`, `{"ts":"yesterday","event":"e"}`, `{"ts":"2026-11-20T16:19:00Z","event":""}`,
		`{"ts":"2026-11-20T16:19:00Z","event":1}`, `{"ts":"2026-11-20T16:19:00Z","event":"e","trace_id":"zz"}`, `{"ts":"2026-11-20T16:19:00Z","event":"e","span_id":7}`,
		`{"ts":"2026-11-20T16:19:00Z","event":"e","correlation_id":[]}`, `{"ts":"2026-11-20T16:19:00Z","event":"e","event":"f"}`, "{\"ts\":\"2026-11-20T16:19:00Z\",\"event\":\"\xff\"}",
	} {
		if err := forgeaudit.New(nil).Add("in", 1, raw); !errors.Is(err, forgeaudit.ErrMalformed) || strings.Contains(err.Error(), "yesterday") {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestKeySetsThatHoldNoKeyAreRefused(t *testing.T) {
	const x = "02GXIm278fiZ3_GOiMuYj08WI59EY18GLEy7X4tz08I"
	for _, set := range []string{"", "{}", `{"keys":[{"kty":"RSA","kid":"a"}]}`, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA","kid":"a"}]}`,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `","kid":"a"},{"kty":"OKP","crv":"Ed25519","x":"1` + x[1:] + `","kid":"a"}]}`} {
		if k, err := forgeaudit.ReadKeys([]byte(set)); err == nil {
			t.Errorf("%s: %v", set, k)
		}
	}
}

// FuzzStream: no line crashes the reader or the reconstruction of a run that it claims to belong to, nothing is lost on the way, and the
// order of the lines does not matter.
func FuzzStream(f *testing.F) {
	for _, name := range []string{"stock-helper.audit.ndjson", "price-helper.audit.ndjson"} {
		for _, raw := range lines(f, name) {
			f.Add([]byte(raw))
		}
	}
	all := lines(f, "stock-helper.audit.ndjson")
	f.Add([]byte(strings.Join(all[75:95], "\n")))
	f.Add([]byte(strings.Join(all[142:150], "\n")))
	f.Add([]byte(all[79] + "\n" + strings.Replace(all[79], "0", "1", 9) + "\n{\"ts\":\"\n" + all[80]))
	spans := evidence.NewSet()
	for _, name := range []string{"truncated_redacted.otlp.json", "empty_final_retry.otlp.json"} {
		for d, err := range otlpfile.ReadFile(corpus+name, nil, otlpfile.Options{}) {
			if err != nil {
				f.Fatal(err)
			}
			spans.AddTraces(d.Traces)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		stream := forgeaudit.New(nil)
		var good []string
		for d, err := range otlpfile.Read(bytes.NewReader(data), "in", otlpfile.Options{MaxTotal: 1 << 20, MaxDocument: 1 << 18}) {
			if err == nil && d.Signal == otlpfile.SignalAudit && stream.Add(d.Name, d.Line, d.Audit) == nil {
				good = append(good, d.Audit)
			}
		}
		r := stream.Close()
		distinct := len(slices.Compact(slices.Sorted(slices.Values(good))))
		if got := r.Logs.LogRecordCount() + r.Left; got != distinct {
			t.Fatalf("%d records came, %d are accounted for", distinct, got)
		}
		first := canonical(t, r)
		slices.Reverse(good)
		if !bytes.Equal(first, canonical(t, closed(t, nil, good))) {
			t.Fatal("the order of the lines changes the evidence")
		}
		set := spans.Clone()
		set.AddLogs(r.Logs)
		for _, tp := range reconstruct.All(set.Split(), reconstruct.Options{Tenant: "default", Redaction: tape.Redaction{Policy: "none"}}) {
			if err := tp.Seal(); err != nil {
				t.Fatal(err)
			}
			for _, problem := range tape.Verify(tp, nil) {
				t.Errorf("%+v", problem)
			}
		}
	})
}
