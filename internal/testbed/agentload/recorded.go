// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentload

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// Recorded reads the requests of all files of traces below a folder.
func Recorded(folder string) (requests []ptrace.Traces, err error) {
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".otlp.json") {
			return err
		}
		for document, err := range otlpfile.ReadFile(path, nil, otlpfile.Options{}) {
			if err != nil {
				return err
			}
			if document.Signal == otlpfile.SignalTraces {
				requests = append(requests, document.Traces)
			}
		}
		return nil
	})
	if err == nil && len(requests) == 0 {
		err = fmt.Errorf("no recorded traces below %s: run in the root of the repository", folder)
	}
	return requests, err
}
