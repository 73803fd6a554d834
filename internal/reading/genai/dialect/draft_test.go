// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// some are values that are not zero, of the types that cannot be made by setting a kind.
var some = []any{exactjson.NullValue, tape.Usage{Unknown: tape.Unknown{}}, decode.Content{Value: exactjson.NullValue}}

// fillAny sets a field to something that is not zero.
func fillAny(t *testing.T, v reflect.Value) {
	t.Helper()
	for _, s := range some {
		if v.Type() == reflect.TypeOf(s) {
			v.Set(reflect.ValueOf(s))
			return
		}
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		t.Fatalf("no value for %s", v.Type())
	}
}

// A field that isEmpty forgot would be lost in a report of another kind.
func TestEveryFieldMakesAPartWorthKeeping(t *testing.T) {
	for _, p := range []interface{ isEmpty() bool }{&ModelCall{}, &ToolCall{}, &AgentRun{}, &InOut{}, &RetrievalCall{}, &Step{}} {
		v := reflect.ValueOf(p).Elem()
		if !p.isEmpty() {
			t.Errorf("%s: zero is not empty", v.Type())
		}
		for i := range v.NumField() {
			fillAny(t, v.Field(i))
			if p.isEmpty() {
				t.Errorf("%s: %s does not count", v.Type(), v.Type().Field(i).Name)
			}
			v.Field(i).SetZero()
		}
	}
	for i, c := 0, reflect.TypeFor[decode.Content](); i < c.NumField(); i++ {
		var content decode.Content
		fillAny(t, reflect.ValueOf(&content).Elem().Field(i))
		if isNothing(&content) {
			t.Errorf("content: %s does not count", c.Field(i).Name)
		}
	}
	for i, u := 0, reflect.TypeFor[tape.Usage](); i < u.NumField(); i++ {
		var m ModelCall
		fillAny(t, reflect.ValueOf(&m.Usage).Elem().Field(i))
		if m.isEmpty() {
			t.Errorf("usage: %s does not count", u.Field(i).Name)
		}
	}
}

func TestAReportHoldsThePartsThatItsItemSpeaksOf(t *testing.T) {
	for class := Unclassified; class <= Noise; class++ {
		r := NewReport(class, func(d *Draft) { d.Model, d.CallID, d.Called = "m", "c", &Called{} })
		if r.Class != class || r.Model != "m" || r.CallID != "c" || r.Called == nil || r.RunSpan || r.Input != nil || r.Documents != nil {
			t.Errorf("class %d: %+v", class, r)
		}
		own := map[Class]bool{Model: r.ModelCall != &noModelCall, Tool: r.ToolCall != &noToolCall, Agent: r.AgentRun != &noAgentRun, Retrieval: r.RetrievalCall != &noRetrievalCall}
		if whole, is := own[class]; is && !whole {
			t.Errorf("class %d shares the part of its kind", class)
		}
		if class != Agent && r.InOut != &noInOut {
			t.Errorf("class %d has a part of its own for nothing", class)
		}
	}
}

func TestAChangedCopyLeavesItsReportAlone(t *testing.T) {
	r := NewReport(Tool, func(d *Draft) { d.Name = "look" })
	changed := r.With(func(d *Draft) { d.Name, d.Model, d.Class = "find", "m", Model })
	if r.Name != "look" || r.Model != "" || r.Class != Tool || r.ModelCall != &noModelCall {
		t.Errorf("the report has changed: %+v", r)
	}
	if changed.Name != "find" || changed.Model != "m" || changed.Class != Model {
		t.Errorf("the copy has not: %+v", changed)
	}
	if !reflect.ValueOf(&noModelCall).Elem().IsZero() {
		t.Error("the empty part is not empty any more")
	}
}

// maxFields is how many fields a type has at most that dialects fill.
const maxFields = 20

func TestNoTypeHasTooManyFields(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if fields, ok := s.Type.(*ast.StructType); ok && fields.Fields.NumFields() > maxFields {
					t.Errorf("%s has %d fields", s.Name, fields.Fields.NumFields())
				}
			}
			return true
		})
	}
}
