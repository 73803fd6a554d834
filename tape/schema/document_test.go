// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

func TestWorkedExampleOfTheDocumentHolds(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(document(t), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d examples", len(blocks))
	}
	tp, err := tape.Read([]byte(blocks[0][1]))
	if err != nil {
		t.Fatal(err)
	}
	oracleFile := oracle.Append(nil, oracle.FromTape(tp))
	if diff := cmp.Diff(string(oracleFile), blocks[1][1]); diff != "" {
		t.Error(diff)
	}
	files := map[string][]byte{tape.TapeFile: []byte(blocks[0][1]), tape.OracleFile: oracleFile}
	if diff := cmp.Diff([]tape.Problem(nil), tape.Verify(tp, files, Check, oracle.Check)); diff != "" {
		t.Error(diff)
	}
	if strings.Join(strings.Fields(blocks[0][1]), "") != strings.Join(strings.Fields(string(tp.AppendJSON(nil))), "") {
		t.Error("the members of the example are not in the order in which they are written")
	}
}

func TestArgsHashesOfTheDocumentHold(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| (?:`(.*)`|\\(blank\\)) \\| `(sha256[^`]*)` \\|$").FindAllStringSubmatch(document(t), -1)
	if len(rows) != 10 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		if got := oracle.HashText(row[1]); got != row[2] {
			t.Errorf("%s: got %s, want %s", row[1], got, row[2])
		}
	}
}

func document(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/tape-format.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
