// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

type shape struct {
	Type    string
	Label   string
	Sides   int
	Filled  bool
	Unknown []exactjson.Member
}

var shapes = New("shape", func(s *shape) *[]exactjson.Member { return &s.Unknown },
	Of("type", func(s *shape) *string { return &s.Type }, Enum("box", "dot")).Required(),
	Of("label", func(s *shape) *string { return &s.Label }, String[string]()).Always(),
	Of("filled", func(s *shape) *bool { return &s.Filled }, Bool()).AlwaysIf(func(s *shape) bool { return s.Sides > 4 }),
).Variants(func(s *shape) string { return s.Type }).
	Variant("box",
		Of("sides", func(s *shape) *int { return &s.Sides }, Int[int]()))

var frames = New("frame", func(f *frame) *[]exactjson.Member { return &f.Unknown },
	Of("shapes", func(f *frame) *[]shape { return &f.Shapes }, List(shapes.Codec())),
	Of("named", func(f *frame) *map[string]shape { return &f.Named }, Map[map[string]shape](shapes.Codec())))

type frame struct {
	Shapes  []shape
	Named   map[string]shape
	Unknown []exactjson.Member
}

func TestMembersAreWrittenInOrderAndUnknownOnesKept(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"new":1.0}`,
		`{"shapes":[{"type":"box","label":"","sides":3,"z":null,"a":[1]},{"type":"dot","label":"x","sides":3}]}`,
		`{"named":{"a":{"label":""},"b":{"type":"cube","label":"","sides":6}}}`,
		`{"shapes":[{"type":"box","label":"","filled":false,"sides":5}]}`,
	} {
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		f, err := frames.Decode(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(frames.AppendJSON(nil, &f)); got != text {
			t.Error(cmp.Diff(text, got))
		}
		want, _ := v.Canonical()
		if got, err := frames.AppendCanonical(nil, &f); err != nil || string(got) != want {
			t.Errorf("%v\n%s", err, cmp.Diff(want, string(got)))
		}
	}
}

func TestOrderOfReadMembersDoesNotMatter(t *testing.T) {
	v, err := exactjson.Parse(`{"sides":3,"z":0,"label":"l","a":0,"filled":true,"type":"box"}`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := shapes.Decode(v)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"box","label":"l","filled":true,"sides":3,"z":0,"a":0}`
	if got := string(shapes.AppendJSON(nil, &s)); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestFieldErrorsNameTheDottedPath(t *testing.T) {
	for text, path := range map[string]string{
		`7`:                 "",
		`{"shapes":{}}`:     "shapes",
		`{"shapes":[{},7]}`: "shapes.1",
		`{"shapes":[{"type":"box","sides":"3"}]}`: "shapes.0.sides",
		`{"named":{"n":{"filled":0}}}`:            "named.n.filled",
		`{"named":{"n":{"type":1}}}`:              "named.n.type",
	} {
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var wrong *FieldError
		if _, err := frames.Decode(v); !errors.As(err, &wrong) || wrong.Path != path {
			t.Errorf("%s: %v", text, err)
		}
	}
}
