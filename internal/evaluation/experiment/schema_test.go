// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
)

//go:generate go test . -run SchemasOfReports -update

var update = flag.Bool("update", false, "write the published schemas")

// enums are the values of types and members that have few.
var enums = map[string][]string{
	"statistics.Shape":    {string(statistics.FailureRescue), string(statistics.RegressionCheck)},
	"statistics.State":    {string(statistics.Ship), string(statistics.DontShip), string(statistics.Inconclusive)},
	"statistics.Severity": {string(statistics.Info), string(statistics.BlocksShip), string(statistics.BlocksAll)},
	"contract.Policy":     {string(contract.UseOriginal), string(contract.Live), string(contract.Mock)},
	"CaseResult.state":    {Improved, Regressed, Unchanged, NotScored, NotReplayed, NotTried},
}

// schemaOf describes what encoding/json writes of a type. Members without omitempty are always there, and there are no others.
func schemaOf(t reflect.Type) map[string]any {
	if values := enums[t.String()]; values != nil {
		return map[string]any{"enum": values}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		members(t, properties, &required)
		return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	}
	panic(t.String())
}

func members(t reflect.Type, properties map[string]any, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			members(f.Type, properties, required)
			continue
		case !f.IsExported() || name == "-":
			continue
		}
		properties[name] = schemaOf(f.Type)
		if values := enums[t.Name()+"."+name]; values != nil {
			properties[name] = map[string]any{"enum": values}
		}
		if !strings.Contains(options, "omitempty") {
			*required = append(*required, name)
		}
	}
}

// The published schemas are those of the reports that are written, and these are valid against them.
func TestSchemasOfReports(t *testing.T) {
	comparison := NewComparison(plan(1), plan(1).Cases[0], "npm test")
	comparison.Add("m", "http://h/v1", recordedTape(), []*Outcome{outcome("run-000", 0.5), {RunID: "x", Failure: failure()}})
	for _, of := range []struct {
		file, title string
		of          any
	}{
		{"experiment-report-2", "The report of tapedeck experiment", reportOf(t, 12)},
		{"experiment-comparison-2", "The report of tapedeck compare", comparison},
	} {
		schema := schemaOf(reflect.TypeOf(of.of).Elem())
		schema["$schema"], schema["$id"], schema["title"] = "https://json-schema.org/draft/2020-12/schema", "https://github.com/tapedeck/tapedeck/docs/schema/"+of.file+".schema.json", of.title
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		file := "../../../docs/schema/" + of.file + ".schema.json"
		if *update {
			if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		published, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(bytes.TrimSpace(published), text) {
			t.Errorf("%s is not that of the report (%v): go test ./internal/evaluation/experiment -run SchemasOfReports -update", file, err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(published))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("report", document); err != nil {
			t.Fatal(err)
		}
		compiled, err := compiler.Compile("report")
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(of.of)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", of.file, err)
		}
		value.(map[string]any)["more"] = true
		if compiled.Validate(value) == nil {
			t.Errorf("%s takes what no report has", of.file)
		}
		delete(value.(map[string]any), "more")
		delete(value.(map[string]any), "runner")
		if compiled.Validate(value) == nil {
			t.Errorf("%s takes a report without a runner", of.file)
		}
	}
}
