// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package recorder is the protocol of the recorder (see its doc.go) for drivers in Go.
package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log/global"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// URL is where the recorder listens.
var URL = cmpOr(os.Getenv("RECORDER"), "http://127.0.0.1:4900")

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Tool is a tool that the script knows.
type Tool struct {
	Name, Description string
	Parameters        json.RawMessage
}

// Schema is the schema of the parameters as a map.
func (t Tool) Schema() (schema map[string]any) {
	_ = json.Unmarshal(t.Parameters, &schema)
	return schema
}

// Call runs the tool; arguments is a JSON object. The result is JSON.
func (t Tool) Call(ctx context.Context, arguments []byte) (json.RawMessage, error) {
	return inside(ctx, true, t.Name, string(arguments), func(result json.RawMessage) string { return plainText(result) }, func(context.Context) (json.RawMessage, error) {
		var answer struct {
			Result json.RawMessage
			Error  *string
		}
		if err := call("/tool/"+t.Name, json.RawMessage(arguments), &answer); err != nil {
			return nil, err
		}
		if answer.Error != nil {
			return nil, errors.New(*answer.Error)
		}
		return answer.Result, nil
	})
}

// plainText is a text as it is, anything else as JSON.
func plainText(result json.RawMessage) string {
	var text string
	if len(result) > 0 && result[0] == '"' && json.Unmarshal(result, &text) == nil {
		return text
	}
	return string(result)
}

// Text is what the tool returns in a program whose tools return texts: a text as it is, anything else as JSON.
func (t Tool) Text(ctx context.Context, arguments []byte) (string, error) {
	result, err := t.Call(ctx, arguments)
	return plainText(result), err
}

// Value is what the tool returns in a program whose tools return values: integers as int64, other numbers as float64.
func (t Tool) Value(ctx context.Context, arguments []byte) (any, error) {
	result, err := t.Call(ctx, arguments)
	if err != nil {
		return nil, err
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(result))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return Plain(value), err
}

// Plain has integers as int64 and other numbers as float64.
func Plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = Plain(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = Plain(v[name])
		}
	}
	return value
}

// Message is one of the turns before the task.
type Message struct{ Role, Content string }

// Task is one run.
type Task struct {
	System, User, Model string
	History             []Message
	Stream              bool
	MaxSteps            int `json:"max_steps"`
	Tools               []Tool
	Sub                 *struct {
		Name, Description, System string
		Tools                     []Tool
	}
}

func call(path string, in, out any) error {
	method, body := http.MethodGet, io.Reader(nil)
	if in != nil {
		doc, err := json.Marshal(in)
		if err != nil {
			return err
		}
		method, body = http.MethodPost, bytes.NewReader(doc)
	}
	request, err := http.NewRequest(method, URL+path, body)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(out)
}

// Provider exports every span when it ends, as OTLP to the recorder, and is made the global one; so are log records.
func Provider(service string) *sdktrace.TracerProvider {
	exporter, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(URL+"/v1/traces"))
	if err != nil {
		panic(err)
	}
	named := resource.NewSchemaless(attribute.String("service.name", service))
	resources, _ := resource.Merge(resource.Default(), named)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithResource(resources))
	otel.SetTracerProvider(provider)
	records, err := otlploghttp.New(context.Background(), otlploghttp.WithEndpointURL(URL+"/v1/logs"))
	if err != nil {
		panic(err)
	}
	global.SetLoggerProvider(sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(records)), sdklog.WithResource(resources)))
	return provider
}

// Main runs the scenarios, or those named on the command line. GROUP in the environment is another name for what is recorded, and STREAM makes the model stream
// in all scenarios. flush sends what the instrumentation still holds.
func Main(group, model string, agent func(context.Context, Task) (string, error), flush func()) {
	group = cmpOr(os.Getenv("GROUP"), group)
	var scenarios []string
	if err := call("/scenarios", nil, &scenarios); err != nil {
		panic(err)
	}
	for _, scenario := range scenarios {
		if len(os.Args) > 2 && !slices.Contains(os.Args[2:], scenario) {
			continue
		}
		var task Task
		if err := call("/begin", map[string]string{"group": group, "scenario": scenario, "model": model}, &task); err != nil {
			panic(err)
		}
		task.Stream = task.Stream || os.Getenv("STREAM") != ""
		said := map[string]any{"output": nil, "error": nil}
		output, err := run(agent, task)
		if err != nil {
			said["error"] = err.Error()
		} else {
			said["output"] = output
		}
		flush()
		var counted map[string]any
		if err := call("/end", said, &counted); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, scenario, counted, err)
	}
}

func run(agent func(context.Context, Task) (string, error), task Task) (output string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return inside(context.Background(), false, "assistant", task.User, func(output string) string { return output }, func(ctx context.Context) (string, error) { return agent(ctx, task) })
}
