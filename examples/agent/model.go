// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"strings"
)

var (
	article = regexp.MustCompile(`SKU-\d+`)
	pieces  = regexp.MustCompile(`"pieces":(\d+)`)
)

// scripted is a model that needs no key: it looks up the articles that it is asked for, and says what was found.
func scripted() (base string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(complete)}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String() + "/v1", func() { _ = server.Close() }, nil
}

func complete(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []message `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var articles, found []string
	for _, m := range asked.Messages {
		switch m.Role {
		case "user":
			articles = article.FindAllString(m.Content, -1)
		case "tool":
			count := "nobody knows how many"
			if said := pieces.FindStringSubmatch(m.Content); said != nil {
				count = said[1]
			}
			found = append(found, count)
		}
	}
	said, finish := message{Role: "assistant"}, "stop"
	switch {
	case len(found) == 0 && len(articles) > 0:
		finish = "tool_calls"
		for _, sku := range articles {
			wanted := call{ID: "call_" + sku, Type: "function"}
			wanted.Function.Name, wanted.Function.Arguments = "stock", `{"sku":"`+sku+`"}`
			said.ToolCalls = append(said.ToolCalls, wanted)
		}
	case len(found) == 0:
		said.Content = "Which article?"
	default:
		var parts []string
		for i, count := range found {
			if i < len(articles) {
				parts = append(parts, articles[i]+": "+count)
			}
		}
		said.Content = strings.Join(parts, ", ") + "."
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"index": 0, "message": said, "finish_reason": finish}}})
}
