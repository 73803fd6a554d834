// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package exactjson

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCanonicalFormPassesTheRFC8785Vectors(t *testing.T) {
	inputs, err := filepath.Glob("testdata/jcs/input/*.json")
	if err != nil || len(inputs) != 6 {
		t.Fatalf("%d inputs, %v", len(inputs), err)
	}
	for _, input := range inputs {
		name := filepath.Base(input)
		t.Run(name, func(t *testing.T) {
			got := canonical(t, read(t, input))
			if diff := cmp.Diff(read(t, "testdata/jcs/output/"+name), got); diff != "" {
				t.Error(diff)
			}
			hexText := read(t, "testdata/jcs/outhex/"+strings.TrimSuffix(name, ".json")+".txt")
			want, err := hex.DecodeString(strings.Join(strings.Fields(hexText), ""))
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got %x, want %x", got, want)
			}
		})
	}
}

func TestNumbersPassTheES6Vectors(t *testing.T) {
	file, err := os.Open("testdata/jcs/es6testfile10k.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for scan := bufio.NewScanner(unzipped); scan.Scan(); lines++ {
		bits, want, ok := strings.Cut(scan.Text(), ",")
		n, err := strconv.ParseUint(bits, 16, 64)
		if !ok || err != nil {
			t.Fatalf("line %q: %v", scan.Text(), err)
		}
		f := math.Float64frombits(n)
		// An exponent keeps the literal a double: digits alone would be an exact integer.
		if got := canonicalNumber(strconv.FormatFloat(f, 'e', -1, 64)); got != want {
			t.Errorf("%x: got %s, want %s", n, got, want)
		}
		got, err := FloatValue(f).Canonical()
		if err != nil || got != want {
			t.Errorf("FloatValue(%x): got %s, %v, want %s", n, got, err, want)
		}
	}
	if lines != 10000 {
		t.Errorf("%d lines", lines)
	}
}

func TestIntegersBeyondDoublesKeepTheirDigits(t *testing.T) {
	for literal, want := range map[string]string{
		"9007199254740992":                  "9007199254740992",
		"9007199254740993":                  "9007199254740993",
		"-9007199254740993":                 "-9007199254740993",
		"9007199254740993.0":                "9007199254740992",
		"1" + strings.Repeat("0", 400):      "1" + strings.Repeat("0", 400),
		"1e20":                              "100000000000000000000",
		"1e21":                              "1e+21",
		"-0":                                "0",
		"-0.0":                              "0",
		"-1":                                "-1",
		"3e1":                               "30",
		"0.1e1":                             "1",
		"999999999999999":                   "999999999999999",
		"1e-400":                            "0",
		"0." + strings.Repeat("0", 5) + "1": "0.000001",
	} {
		if got := canonical(t, literal); got != want {
			t.Errorf("%s: got %s, want %s", literal, got, want)
		}
	}
	big, small := parse(t, `{"a":[9007199254740993]}`), parse(t, `[9007199254740991,1e300,-1]`)
	if !big.HasBigInt() || !parse(t, `-9007199254740992`).HasBigInt() || small.HasBigInt() || FloatValue(1e17).HasBigInt() {
		t.Error("HasBigInt")
	}
}

func TestNumbersOutOfRangeAreHashedAsText(t *testing.T) {
	v := parse(t, `{"b":1e999, "a":1}`)
	if _, err := v.Canonical(); !errors.Is(err, ErrRange) {
		t.Errorf("got %v", err)
	}
	if got, want := v.Digest(), RawDigest(`{"b":1e999,"a":1}`); got != want || !strings.HasPrefix(got, "sha256-raw:") {
		t.Errorf("got %s, want %s", got, want)
	}
	if parse(t, "1e999").Equal(parse(t, "2e999")) {
		t.Error("numbers out of range are equal by their text only")
	}
}

func TestParseSaysWhyATextIsNoExactValue(t *testing.T) {
	for text, want := range map[string]error{
		"":                           ErrSyntax,
		" ":                          ErrSyntax,
		"{":                          ErrSyntax,
		"[1,]":                       ErrSyntax,
		"{\"a\":1,}":                 ErrSyntax,
		"01":                         ErrSyntax,
		"1.":                         ErrSyntax,
		"-":                          ErrSyntax,
		"+1":                         ErrSyntax,
		"1e":                         ErrSyntax,
		"nul":                        ErrSyntax,
		"1 2":                        ErrSyntax,
		"\"\x01\"":                   ErrSyntax,
		"\"\\x\"":                    ErrSyntax,
		"\"\\u12\"":                  ErrSyntax,
		"\"":                         ErrSyntax,
		"\ufeff1":                    ErrSyntax,
		`{"a":1,"a":2}`:              ErrDuplicateName,
		`{"a":1,"\u0061":2}`:         ErrDuplicateName,
		`"\ud800"`:                   ErrUnicode,
		`"\udc00\ud800"`:             ErrUnicode,
		"\"\xff\"":                   ErrUnicode,
		"\"\\n\xff\"":                ErrUnicode,
		strings.Repeat("[", 513):     ErrDepth,
		strings.Repeat(`{"":`, 1000): ErrDepth,
		"[" + strings.Repeat("0,", MaxValues) + "0]": ErrTooMany,
	} {
		if _, err := Parse(text); !errors.Is(err, want) {
			t.Errorf("%.20q: got %v, want %v", text, err, want)
		}
	}
	deepest := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	if v := parse(t, deepest); v.Depth() != MaxDepth {
		t.Errorf("depth %d", v.Depth())
	}
}

func TestDuplicateNamesAreFoundInLargeObjects(t *testing.T) {
	for _, names := range []int{2, 15, 16, 17, 40} {
		var b strings.Builder
		for i := range names {
			b.WriteString(`"` + strconv.Itoa(i) + `":0,`)
		}
		if _, err := Parse("{" + b.String() + `"x":1}`); err != nil {
			t.Errorf("%d names: %v", names, err)
		}
		if _, err := Parse("{" + b.String() + `"1":1}`); !errors.Is(err, ErrDuplicateName) {
			t.Errorf("%d names and a duplicate: %v", names, err)
		}
	}
}

func TestWritingKeepsLiteralsAndOrder(t *testing.T) {
	const text = `{"z":1.50,"a":[1E2,null,true,{}],"é\n":"\u0001\"\\/"}`
	if got := parse(t, " "+text+"\n").JSON(); got != text {
		t.Errorf("got %s", got)
	}
	if got, want := canonical(t, text), `{"a":[100,null,true,{}],"z":1.5,"é\n":"\u0001\"\\/"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBuiltValuesCanAlwaysBeReadBack(t *testing.T) {
	v := ObjectValue(
		Member{"a\xff", StringValue("b\xfe\xffc")},
		Member{"absent", Value{}},
		Member{"a\xfe", IntValue(2)}, // the same name once it is valid
		Member{"f", ArrayValue(FloatValue(math.Inf(-1)), FloatValue(math.NaN()), FloatValue(1e300), FloatValue(1234567), FloatValue(math.Copysign(0, -1)))},
	)
	const want = `{"a�":"b��c","f":["-Infinity","NaN",1e+300,1234567,0]}`
	if got := v.JSON(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !parse(t, v.JSON()).Equal(v) {
		t.Error("read back differently")
	}
}

func TestEqualIgnoresOrderAndSpelling(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1e0}`, true},
		{`{"a":1,"b":2}`, `{"a":1,"c":2}`, false},
		{`{"a":1,"b":2}`, `{"b":1,"a":2}`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`"1"`, `1`, false},
		{`null`, `false`, false},
		{`{}`, `[]`, false},
	} {
		if got := parse(t, c.a).Equal(parse(t, c.b)); got != c.want {
			t.Errorf("%s, %s: %v", c.a, c.b, got)
		}
	}
	if (Value{}).Equal(NullValue) {
		t.Error("absent is not null")
	}
}

func TestEqualOfLargeReorderedObjectsStaysCheap(t *testing.T) {
	const n = 100_000 // a scan per name would take 10^10 steps
	up, down := make([]Member, n), make([]Member, n)
	for i := range n {
		m := Member{strconv.Itoa(i), IntValue(int64(i))}
		up[i], down[n-1-i] = m, m
	}
	if !ObjectValue(up...).Equal(ObjectValue(down...)) {
		t.Error("not equal")
	}
}

func TestValuesServeEncodingJSON(t *testing.T) {
	var doc struct{ A Value }
	if err := json.Unmarshal([]byte(`{"A":{"n":1.00}}`), &doc); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(doc)
	if err != nil || string(b) != `{"A":{"n":1.00}}` {
		t.Errorf("%s, %v", b, err)
	}
	if err := json.Unmarshal([]byte(`{"A":{"n":1,"n":2}}`), &doc); !errors.Is(err, ErrDuplicateName) {
		t.Errorf("got %v", err)
	}
}

func TestAccessorsNeverMistakeKinds(t *testing.T) {
	v := parse(t, `{"i":-3,"f":1.5,"e":2e3,"s":"x","b":true,"n":null,"a":[1],"big":9223372036854775808}`)
	if i, ok := v.Get("i").Int(); !ok || i != -3 {
		t.Error("i")
	}
	if _, ok := v.Get("f").Int(); ok {
		t.Error("f is no integer")
	}
	if i, ok := v.Get("e").Int(); !ok || i != 2000 {
		t.Error("e")
	}
	if _, ok := v.Get("big").Int(); ok {
		t.Error("big does not fit")
	}
	if f, ok := v.Get("f").Float(); !ok || f != 1.5 {
		t.Error("float")
	}
	if v.Get("i").Str() != "" || v.Get("s").Str() != "x" || !v.Get("b").True() || v.Get("s").True() {
		t.Error("text")
	}
	if got := v.First("n", "missing", "s", "i"); got.Str() != "x" {
		t.Errorf("first: %v", got)
	}
	if v.Get("a").At(0).Text() != "1" || !v.Get("a").At(1).IsAbsent() || !v.At(0).IsAbsent() || !v.Get("a").Get("a").IsAbsent() {
		t.Error("At")
	}
	if clone := v.Clone(); !clone.Equal(v) || clone.JSON() != v.JSON() {
		t.Error("clone")
	}
	for _, empty := range []Value{{}, NullValue, StringValue(""), ArrayValue(), ObjectValue()} {
		if !empty.IsEmpty() {
			t.Errorf("%v is empty", empty)
		}
	}
	if IntValue(0).IsEmpty() || BoolValue(false).IsEmpty() {
		t.Error("0 and false are values")
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"arrays", "french", "structures", "unicode", "values", "weird"} {
		text, err := os.ReadFile("testdata/jcs/input/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), string(text))
	}
	f.Add(`9007199254740993`, `9007199254740993.0`)
	f.Add(`{"a":1,"a":1e999}`, `"\ud800"`)
	f.Add("\"\xff\"", `[[[[]]]]`)
	f.Add(`{"\uE000":1,"\ud83d\ude02":2}`, `{"\ud83d\ude02":2,"":1}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		v, err := Parse(a)
		if err == nil != json.Valid([]byte(a)) && (err == nil || errors.Is(err, ErrSyntax)) {
			t.Fatalf("Parse says %v", err)
		}
		if err != nil {
			return
		}
		again := parse(t, v.JSON())
		if !again.Equal(v) || again.JSON() != v.JSON() {
			t.Fatalf("%s is read back as %s", v.JSON(), again.JSON())
		}
		canon, err := v.Canonical()
		if err != nil {
			return
		}
		if got := canonical(t, canon); got != canon {
			t.Fatalf("canonical form of %s is %s", canon, got)
		}
		w, err := Parse(b)
		if err != nil {
			return
		}
		other, err := w.Canonical()
		if err == nil && v.Equal(w) != (canon == other) {
			t.Fatalf("Equal says %v of %s and %s", v.Equal(w), canon, other)
		}
	})
}

func BenchmarkParse(b *testing.B) { bench(b, func(v Value, text string) { _, _ = Parse(text) }) }
func BenchmarkCanonical(b *testing.B) {
	bench(b, func(v Value, _ string) { buf, _ = v.AppendCanonical(buf[:0]) })
}
func BenchmarkAppend(b *testing.B) { bench(b, func(v Value, _ string) { buf = v.AppendJSON(buf[:0]) }) }

var buf []byte

// bench runs on a document like a tool result: objects of short fields, texts with line breaks, numbers.
func bench(b *testing.B, do func(Value, string)) {
	item := `{"title":"The quick brown fox","score":0.8731,"id":12345,"tags":["a","b"],"body":"` +
		strings.Repeat(`Lorem ipsum dolor sit amet, \"consectetur\" adipiscing elit.\n`, 10) + `","unicode":"größer ✓"}`
	text := "[" + strings.Repeat(item+",", 200) + item + "]"
	v, err := Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		do(v, text)
	}
}

func parse(t *testing.T, text string) Value {
	t.Helper()
	v, err := Parse(text)
	if err != nil {
		t.Fatalf("%.80q: %v", text, err)
	}
	return v
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	s, err := parse(t, text).Canonical()
	if err != nil {
		t.Fatalf("%.80q: %v", text, err)
	}
	return s
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Arrays and objects share allocations, and nothing else.
func TestMembersOfOneValueAreNotThoseOfTheNext(t *testing.T) {
	v, err := Parse(`[{"a":1},{"b":2},[3,4],{"c":5}]`)
	if err != nil {
		t.Fatal(err)
	}
	want := v.JSON()
	for i := range v.Len() {
		_ = append(v.At(i).Members(), Member{Name: "x", Value: NullValue})
	}
	if got := v.JSON(); got != want {
		t.Errorf("%s became %s", want, got)
	}
}
