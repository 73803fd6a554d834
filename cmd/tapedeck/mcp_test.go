// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMCPServesADeckOnStdinAndStdout(t *testing.T) {
	_, reels := bothLayouts(t)
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	code := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		code <- run(t.Context(), []string{"mcp", reels}, fromClient, toClient, &stderr)
		_ = toClient.Close()
	}()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "show_run", Arguments: map[string]any{"run_id": forgeRun[:10]}})
	if err != nil || r.IsError || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, "http_request") {
		t.Errorf("%v %+v", err, r)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if c := <-code; c != exitOK || stderr.Len() != 0 {
		t.Errorf("%d %s", c, &stderr)
	}
}

func TestMCPSaysWhyItCannot(t *testing.T) {
	dir, _ := newDeck(t)
	t.Setenv(deckVariable, "")
	for want, args := range map[string][]string{
		"mcp needs a DECK":        {},
		"mcp takes one DECK":      {dir, dir},
		"no command behind --":    {dir, "--"},
		"needs a command behind":  {dir, "--replay-flag", "--input=arg"},
		"there is no deck at":     {"nowhere"},
		"--search-limit must be ": {dir, "--search-limit", "0"},
	} {
		if got := tapedeck(t, append([]string{"mcp"}, args...)...); got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
