// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oraclehttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tapedeck/tapedeck/oracle"
)

// contract checks exchanges against the OpenAPI document.
type contract struct {
	document map[string]any
	compiler *jsonschema.Compiler

	mu   sync.Mutex
	seen map[string]bool // operation and status
}

const documentURL = "https://example.com/openapi.json"

var published = sync.OnceValues(func() (*contract, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(OpenAPI()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	return &contract{document: document.(map[string]any), compiler: c, seen: map[string]bool{}}, c.AddResource(documentURL, document)
})

// operation finds what the document says of a request.
func (c *contract) operation(method, path string) (pointer string, operation map[string]any, err error) {
	for template, item := range c.document["paths"].(map[string]any) {
		form := regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(template), `[^/]+`)
		if !regexp.MustCompile("^" + form + "$").MatchString(path) {
			continue
		}
		if operation, ok := item.(map[string]any)[strings.ToLower(method)].(map[string]any); ok {
			name := strings.ReplaceAll(strings.ReplaceAll(template, "~", "~0"), "/", "~1")
			return "/paths/" + name + "/" + strings.ToLower(method), operation, nil
		}
	}
	return "", nil, fmt.Errorf("%s %s is not in the document", method, path)
}

func (c *contract) validate(pointer string, body []byte) error {
	schema, err := c.compiler.Compile(documentURL + "#" + strings.ReplaceAll(strings.ReplaceAll(pointer, "{", "%7B"), "}", "%7D"))
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// check compares one exchange with the document.
func (c *contract) check(method, path string, request []byte, status int, contentType string, response []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	pointer, operation, err := c.operation(method, path)
	if err != nil {
		return err
	}
	answers := operation["responses"].(map[string]any)
	if answers[fmt.Sprint(status)] == nil {
		return fmt.Errorf("status %d of %s %s is not in the document", status, method, path)
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	escaped := strings.ReplaceAll(kind, "/", "~1")
	if err := c.validate(fmt.Sprintf("%s/responses/%d/content/%s/schema", pointer, status, escaped), response); err != nil {
		return fmt.Errorf("response %s: %w", response, err)
	}
	if operation["requestBody"] != nil && status == http.StatusOK {
		if err := c.validate(pointer+"/requestBody/content/application~1json/schema", request); err != nil {
			return fmt.Errorf("request %s: %w", request, err)
		}
	}
	c.seen[fmt.Sprintf("%s %d", operation["operationId"], status)] = true
	return nil
}

// ask sends a request to the handler and holds the exchange against the document.
func ask(t *testing.T, h http.Handler, method, path, body string, header ...string) (int, []byte) {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost:1234"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	c, err := published()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.check(method, r.URL.Path, []byte(body), w.Code, w.Header().Get("Content-Type"), w.Body.Bytes()); err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	return w.Code, w.Body.Bytes()
}

func TestDocumentIsOpenAPI31(t *testing.T) {
	data, err := os.ReadFile("testdata/openapi-3.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://example.com/openapi-3.1.schema.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("https://example.com/openapi-3.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(OpenAPI()))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(document); err != nil {
		t.Error(err)
	}
}

func TestDocumentListsEveryOutcome(t *testing.T) {
	var document struct {
		Components struct {
			Schemas struct {
				Report struct {
					Properties struct {
						Calls struct {
							Properties struct {
								Outcomes struct {
									Required []oracle.Outcome `json:"required"`
								} `json:"outcomes"`
							} `json:"properties"`
						} `json:"calls"`
					} `json:"properties"`
				}
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(oracle.Outcomes, document.Components.Schemas.Report.Properties.Calls.Properties.Outcomes.Required); d != "" {
		t.Error(d)
	}
}

// TestMain says, after all tests, which of the documented answers none of them has seen.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && !slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.run=") || strings.HasPrefix(a, "-test.fuzz") }) {
		code = documentedButUnseen()
	}
	os.Exit(code)
}

func documentedButUnseen() int {
	c, err := published()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	code := 0
	for _, item := range c.document["paths"].(map[string]any) {
		for _, operation := range item.(map[string]any) {
			o := operation.(map[string]any)
			for status := range o["responses"].(map[string]any) {
				if id := fmt.Sprintf("%s %s", o["operationId"], status); !c.seen[id] && !elsewhere[id] {
					fmt.Println("no test has seen the documented answer", id)
					code = 1
				}
			}
		}
	}
	return code
}

// elsewhere are answers that do not depend on the operation and are seen with another one.
var elsewhere = func() map[string]bool {
	all := map[string]bool{}
	for _, status := range []string{"400", "401", "403", "413", "415", "429", "503", "410"} {
		all["callToolOfRun "+status] = true
	}
	for _, status := range []string{"401", "403", "404", "410", "413", "415", "429", "502", "503"} {
		all["callToolAtRoot "+status] = true
	}
	for _, id := range []string{"getReport", "endSession", "getOpenAPI", "getHealth"} {
		all[id+" 401"], all[id+" 403"] = true, true
	}
	all["endSession 410"], all["endSession 409"], all["callTool 404"], all["callTool 502"] = true, true, true, true
	return all
}()
