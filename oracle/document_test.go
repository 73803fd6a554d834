// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const document = "../docs/oracle.md"

func readDocument(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// snippet returns the code that stands in the document under a name.
func snippet(t *testing.T, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(readDocument(t), "<!-- snippet "+name+", run by a test -->\n```")
	_, rest, _ = strings.Cut(rest, "\n")
	code, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("%s has no snippet %s", document, name)
	}
	return code
}

// drivers read one JSON string per line from stdin and print the hash of each.
var drivers = []struct{ program, file, call string }{
	{"python3", "args_hash.py", "\nimport sys\nfor line in sys.stdin: print(args_hash(json.loads(line)))\n"},
	{"node", "args_hash.mjs", "\nimport { createInterface } from \"node:readline\";\nfor await (const line of createInterface({ input: process.stdin })) console.log(argsHash(JSON.parse(line)));\n"},
}

// TestSnippetsOfTheDocumentComputeTheSameHashes runs the Python and the JavaScript of the document over the seeds, the vectors of Forge
// and RFC 8785, and random values.
func TestSnippetsOfTheDocumentComputeTheSameHashes(t *testing.T) {
	texts := hashTexts(t)
	var input bytes.Buffer
	e := json.NewEncoder(&input)
	e.SetEscapeHTML(false)
	for _, text := range texts {
		if err := e.Encode(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range drivers {
		t.Run(d.program, func(t *testing.T) {
			program, err := exec.LookPath(d.program)
			if err != nil {
				if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
					t.Fatalf("%s is not installed", d.program)
				}
				t.Skipf("%s is not installed", d.program)
			}
			file := filepath.Join(t.TempDir(), d.file)
			if err := os.WriteFile(file, []byte(snippet(t, d.file)+d.call), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, file)
			cmd.Stdin = bytes.NewReader(input.Bytes())
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, stderr.Bytes())
			}
			lines := bufio.NewScanner(bytes.NewReader(out))
			n := 0
			for ; lines.Scan(); n++ {
				if want := HashText(texts[n]); lines.Text() != want {
					t.Errorf("%.200q: %s, want %s", texts[n], lines.Text(), want)
				}
			}
			if n != len(texts) {
				t.Errorf("%d hashes for %d texts", n, len(texts))
			}
		})
	}
}

func hashTexts(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, text := range argsSeeds {
		if utf8.ValidString(text) { // a JSON string carries nothing else
			texts = append(texts, text)
		}
	}
	data, err := os.ReadFile("../tape/testdata/args_hash_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Raw string `json:"args_raw"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		texts = append(texts, v.Raw)
	}
	files, err := filepath.Glob("../tape/exactjson/testdata/jcs/input/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no vectors", err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		texts = append(texts, fmt.Sprintf(`{"g":%g,"e":%e,"f":%.3f,"i":%d,"j":-%d}`, f, f, math.Mod(f, 1e9), r.Uint64(), r.Uint64()>>8))
	}
	for range 200 {
		texts = append(texts, randomJSON(r, 0))
	}
	return texts
}

// randomJSON is a value of random shape, with names and texts of characters that are hard to order and to escape.
func randomJSON(r *rand.Rand, depth int) string {
	word := func() string {
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString([]string{"a", "B", "é", "é", "€", "😀", "דּ", `\n`, `\"`, `\\`, `\/`, `\u0001`, `\u00e9`, `\ud83d\ude00`, "\u007f", "\u2028"}[r.IntN(16)])
		}
		return `"` + b.String() + `"`
	}
	switch n := r.IntN(8); {
	case n < 2 && depth < 4:
		var members []string
		for range r.IntN(5) {
			members = append(members, word()+" : "+randomJSON(r, depth+1))
		}
		return "{" + strings.Join(members, ", ") + "}"
	case n < 4 && depth < 4:
		var elements []string
		for range r.IntN(4) {
			elements = append(elements, randomJSON(r, depth+1))
		}
		return "[" + strings.Join(elements, ",") + "]"
	case n == 4:
		return word()
	case n == 5:
		return []string{"true", "false", "null"}[r.IntN(3)]
	default:
		return []string{"0", "-0.0", "1E3", "1e21", "1e-7", "12345678901234567890", "9007199254740992", "-9007199254740993", "0.1", "5e-324", "1e400"}[r.IntN(11)]
	}
}

func TestDocumentListsFlaws(t *testing.T) {
	var flaws strings.Builder
	for _, k := range FlawKinds {
		fmt.Fprintf(&flaws, "| `%s` | %s | %s |\n", k.Code, k.Severity, k.Meaning)
	}
	const marker = "<!-- flaws, checked by a test -->\n| code | severity | meaning |\n|---|---|---|\n"
	before, table, found := strings.Cut(readDocument(t), marker)
	if !found {
		t.Fatal("no table of flaws")
	}
	table, after, _ := strings.Cut(table, "\n\n")
	if table += "\n"; table != flaws.String() {
		if *update {
			if err := os.WriteFile(document, []byte(before+marker+flaws.String()+"\n"+after), 0o644); err != nil {
				t.Fatal(err)
			}
		} else {
			t.Errorf("the table of flaws is not current; go test ./oracle -update\n%s", flaws.String())
		}
	}
	for _, o := range Outcomes {
		if !strings.Contains(before, "| `"+string(o)+"` |") {
			t.Errorf("outcome %s is not in the document", o)
		}
	}
}
