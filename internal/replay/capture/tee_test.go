// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The listeners refuse web pages and other hosts, and close with the tee.
func TestWhoReachesTheListenersOfATee(t *testing.T) {
	asked := 0
	model := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer model.Close()
	tee, err := OpenTee(t.Context(), []string{"OPENAI_BASE_URL=" + model.URL + "/v1", "OLLAMA_HOST=" + strings.TrimPrefix(model.URL, "http://")}, []string{"/usr/bin/agent"})
	if err != nil {
		t.Fatal(err)
	}
	addresses := map[string]string{}
	for _, v := range tee.variables {
		addresses[v.Name] = v.Value
	}
	if addresses["OPENAI_BASE_URL"] != addresses["OPENAI_API_BASE"] || addresses["OPENAI_BASE_URL"] != "http://"+addresses["OLLAMA_HOST"]+"/v1" || addresses["AZURE_OPENAI_ENDPOINT"] != "" {
		t.Errorf("%v", addresses)
	}
	for _, base := range []string{addresses["OPENAI_BASE_URL"], addresses["TAPEDECK_MODEL_URL"] + "/v1"} {
		if host, _, _ := strings.Cut(strings.TrimPrefix(base, "http://"), ":"); host != "127.0.0.1" {
			t.Errorf("%s is not on loopback", base)
		}
		for name, set := range map[string]func(*http.Request){
			"another host": func(r *http.Request) { r.Host = "example.test" },
			"a page":       func(r *http.Request) { r.Header.Set("Origin", "https://example.test") },
			"the agent":    func(*http.Request) {},
		} {
			req, err := http.NewRequest(http.MethodGet, base+"/models", nil)
			if err != nil {
				t.Fatal(err)
			}
			set(req)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if want := map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[name == "the agent"]; resp.StatusCode != want {
				t.Errorf("%s at %s: %s", name, base, resp.Status)
			}
		}
	}
	if asked != 2 {
		t.Errorf("the endpoint was asked %d times", asked)
	}
	if err := tee.close(); err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
	if resp, err := http.Get(addresses["OPENAI_BASE_URL"] + "/models"); err == nil {
		_ = resp.Body.Close()
		t.Error("a listener is left")
	}
}
