// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func value(t testing.TB, text string) exactjson.Value {
	t.Helper()
	v, err := exactjson.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const stock = `{"type":"object","properties":{"sku":{"type":"string","pattern":"^SKU-"},"where":{"enum":["north","south"]}},"required":["sku"],"additionalProperties":false}`

// run is a tape of one call of stock, for which the model was shown a definition.
func run(t testing.TB, args string, label tape.Label) *tape.Tape {
	tp := &tape.Tape{Tools: map[string]tape.Tool{"t": {Name: "stock", Description: "counts", Parameters: value(t, stock)}}}
	e := tape.Event{Seq: 1, Type: tape.EventToolCall, Name: "stock", Result: exactjson.StringValue("4")}
	if args != "" {
		e.Args = value(t, args)
		e.ArgsHash = tape.ArgsHash(e.Args)
	}
	if label != "" {
		e.Provenance = tape.Provenance{"args": label}
	}
	tp.Events = []tape.Event{e}
	return tp
}

func definitions(t testing.TB, parameters string) Definitions {
	t.Helper()
	d, err := Read([]byte(`{"tools":[{"name":"stock","description":"counts","inputSchema":` + parameters + `}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		args  string
		label tape.Label
		today string
		want  string
	}{
		"as it was":          {`{"sku":"SKU-7"}`, "", stock, "current []"},
		"spelled otherwise":  {`{"sku":"SKU-7"}`, "", strings.Replace(stock, `"type":"object",`, "", 1)[:len(stock)-len(`"type":"object",`)-1] + `, "type": "object"}`, "current []"},
		"one more parameter": {`{"sku":"SKU-7"}`, "", strings.Replace(stock, `"where"`, `"when":{},"where"`, 1), "changed [{0 stock changed parameters_changed }]"},
		"required now":       {`{"sku":"SKU-7"}`, "", strings.Replace(stock, `["sku"]`, `["sku","where"]`, 1), "stale [{0 stock changed parameters_changed } {1 stock stale args_invalid the arguments violates required}]"},
		"another pattern":    {`{"sku":"SKU-7"}`, "", strings.Replace(stock, "^SKU-", "^ART-", 1), "stale [{0 stock changed parameters_changed } {1 stock stale args_invalid sku violates pattern}]"},
		"no more so called":  {`{"sku":"SKU-7","where":"north"}`, "", strings.Replace(stock, `"where"`, `"place"`, 1), "stale [{0 stock changed parameters_changed } {1 stock stale args_invalid the arguments violates additionalProperties}]"},
		"redacted":           {`{"sku":"[REDACTED:x]"}`, tape.Redacted, stock, "unknown [{1 stock unknown args_unknown redacted, and sku violates pattern}]"},
		"redacted and valid": {`{"sku":"SKU-[REDACTED:x]"}`, tape.Redacted, stock, "current []"},
		"missing":            {"", tape.Missing, stock, "unknown [{1 stock unknown args_unknown missing}]"},
		"a far number":       {`{"sku":1e999999999}`, "", stock, "unknown [{1 stock unknown args_unknown exact}]"},
		"anything":           {`{"sku":7}`, "", "{}", "changed [{0 stock changed parameters_changed }]"},
	} {
		state, reasons := Check(run(t, c.args, c.label), definitions(t, c.today), nil)
		if reasons == nil {
			reasons = []Reason{}
		}
		if got := fmt.Sprint(state, " ", reasons); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if state, reasons := Check(run(t, `{"sku":"SKU-7"}`, ""), Definitions{}, nil); state != Stale || len(reasons) != 2 {
		t.Errorf("%s %v", state, reasons)
	}
	if state, _ := Check(run(t, `{"sku":"SKU-7"}`, ""), Definitions{}, func(string) bool { return false }); state != Current {
		t.Errorf("a tool that does not count is %s", state)
	}
	served := run(t, `{"sku":"SKU-7"}`, "")
	served.Tools, served.Events[0].Name, served.Events[0].Server = nil, "mcp__shop__stock", &tape.Server{Name: "shop", Tool: "stock"}
	if state, reasons := Check(served, definitions(t, stock), nil); state != Current {
		t.Errorf("a tool by the name of its server: %s %v", state, reasons)
	}
}

func TestReadTakesWhatProvidersTake(t *testing.T) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"stock","inputSchema":` + stock + `}]}}`,
		`[{"type":"function","function":{"name":"stock","parameters":` + stock + `}}]`,
		`[{"type":"function","name":"stock","parameters":` + stock + `}]`,
		`{"tools":[{"name":"stock","input_schema":` + stock + `}]}`,
		`{"tools":[{"functionDeclarations":[{"name":"stock","parametersJsonSchema":` + stock + `}]}]}`,
	} {
		d, err := Read([]byte(text))
		if err != nil || len(d) != 1 || d["stock"].compiled == nil {
			t.Errorf("%s: %v %v", text, d, err)
		}
	}
	for _, text := range []string{
		"", "{}", `{"tools":{}}`, `[{}]`, `[{"name":"a","parameters":{"type":7}}]`, `[{"name":"a","parameters":{"$ref":"file:///etc/passwd"}}]`, `[{"name":"a","parameters":{"$ref":"http://127.0.0.1:1/x"}}]`,
		`[{"name":"a","parameters":{"maximum":1e999999999}}]`, `[{"name":"a","parameters":{"type":"object"}},{"name":"a","parameters":{"type":"array"}}]`,
	} {
		if d, err := Read([]byte(text)); err == nil {
			t.Errorf("%s is %v", text, d)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"stock","inputSchema":`+stock+`}]}`), `{"sku":"SKU-1"}`)
	f.Add([]byte(`[{"name":"stock","parameters":{"$ref":"#/x","x":{"$ref":"#"}}}]`), `[1e5,{"a":null}]`)
	f.Fuzz(func(t *testing.T, data []byte, args string) {
		d, err := Read(data)
		if err != nil {
			return
		}
		if v, err := exactjson.Parse(args); err == nil && v.Kind() == exactjson.Object {
			Check(run(t, args, ""), d, nil)
		}
	})
}
