// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

const auditStream = "../../../testdata/corpus/forge/price-helper.audit.ndjson"

// TestAuditStreamIsToldByItsContent: its lines come byte for byte, with their numbers, also between OTLP documents and compressed.
func TestAuditStreamIsToldByItsContent(t *testing.T) {
	data, err := os.ReadFile(auditStream)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	mixed := []byte(lines[0] + "\n" + string(compact(t, fixture(t, "forge_happy.otlp.json"))) + "\n\n" + strings.Join(lines[1:], "\n"))
	for name, input := range map[string][]byte{"plain": data, "gzip": gzipped(t, data), "mixed": mixed} {
		var got []string
		for d, err := range Read(bytes.NewReader(input), "in", Options{}) {
			if err != nil {
				t.Fatal(name, err)
			}
			if d.Signal == SignalAudit {
				got = append(got, d.Audit)
				if want := bytes.Split(mixed, []byte("\n")); name == "mixed" && string(want[d.Line-1]) != d.Audit || d.Name != "in" || d.Traces.SpanCount()+d.Logs.LogRecordCount() != 0 {
					t.Errorf("%s: line %d is %s", name, d.Line, d.Audit)
				}
			}
		}
		if !slices.Equal(got, lines) {
			t.Errorf("%s: %d lines", name, len(got))
		}
	}
}

func TestABrokenAuditLineHidesNoOther(t *testing.T) {
	data, err := os.ReadFile(auditStream)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	lines[2] = lines[2][:strings.Index(lines[2], `"fields":{`)+10] + "\n" // an object that is never closed
	lines[4] = lines[4][:100] + "\n"
	good, refused := 0, []int{}
	for d, err := range Read(strings.NewReader(strings.Join(lines, "")+`{"ts":"x","event":"y"}`), "in", Options{}) {
		var e *Error
		if errors.As(err, &e) {
			refused = append(refused, e.Line)
		} else if d.Signal == SignalAudit {
			good++
		}
	}
	if good != 6 || !slices.Equal(refused, []int{3, 5, 9}) {
		t.Errorf("%d good lines, refused %v", good, refused)
	}
}
