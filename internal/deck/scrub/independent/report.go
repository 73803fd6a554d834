// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package independent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
)

// Errors of these functions say nothing of the text: it holds secrets.
var errReport = errors.New("it has another form")

// readGitleaks reads a report of gitleaks 8: an array.
func readGitleaks(out []byte) (found []reported, err error) {
	var rows []struct {
		RuleID, File string
		StartLine    int
	}
	if json.Unmarshal(out, &rows) != nil {
		return nil, errReport
	}
	for _, r := range rows {
		found = append(found, reported{file: filepath.Base(r.File), line: r.StartLine, rule: r.RuleID})
	}
	return found, nil
}

// readTruffleHog reads what TruffleHog 3 writes with --json: a finding a line.
func readTruffleHog(out []byte) (found []reported, err error) {
	type row struct {
		SourceMetadata *struct {
			Data struct {
				Filesystem struct {
					File string `json:"file"`
					Line int    `json:"line"`
				}
			}
		}
		DetectorName string
	}
	return eachLine(out, func(r *row) (reported, bool) {
		if r.SourceMetadata == nil {
			return reported{}, r.DetectorName == "" // a message of its log
		}
		f := r.SourceMetadata.Data.Filesystem
		return reported{file: filepath.Base(f.File), line: f.Line, rule: r.DetectorName}, f.File != ""
	})
}

// readContract reads what a program of the user writes: {"file": …, "line": …, "rule": …}, a finding a line.
func readContract(out []byte) ([]reported, error) {
	type row struct {
		File string `json:"file"`
		Line int    `json:"line"`
		Rule string `json:"rule"`
	}
	return eachLine(out, func(r *row) (reported, bool) {
		return reported{file: filepath.Base(r.File), line: r.Line, rule: r.Rule}, r.File != ""
	})
}

func eachLine[R any](out []byte, finding func(*R) (reported, bool)) (found []reported, err error) {
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var r R
		switch err := dec.Decode(&r); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, errReport
		}
		one, ok := finding(&r)
		if !ok {
			return nil, errReport
		}
		if strings.TrimSpace(one.file) != "" {
			found = append(found, one)
		}
	}
}
