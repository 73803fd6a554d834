// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package runner says how a runner is named: exec:WORDS for a program that speaks whatifd-exec/1, python:MODULE:ATTR for a function in Python.
package runner

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
)

//go:embed shim.py
var shim string

// PythonVariable names the interpreter of python: runners; without it python3 is used.
const PythonVariable = "TAPEDECK_PYTHON"

var dotted = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

// Parse reads a reference to a runner. exec:WORDS is split as a shell splits words, without a shell: quotes and backslashes, no variables.
func Parse(reference string) (execlane.Config, error) {
	kind, rest, _ := strings.Cut(reference, ":")
	switch kind {
	case "exec":
		argv, err := Split(rest)
		if err == nil && len(argv) == 0 {
			err = errors.New("there is no command")
		}
		if err != nil {
			return execlane.Config{}, fmt.Errorf("runner %q: %w", reference, err)
		}
		return execlane.Config{Argv: argv}, nil
	case "python":
		module, attribute, ok := strings.Cut(rest, ":")
		if !ok || !dotted.MatchString(module) || !dotted.MatchString(attribute) || strings.Contains(attribute, ".") {
			return execlane.Config{}, fmt.Errorf("runner %q: want python:MODULE:ATTR", reference)
		}
		python := os.Getenv(PythonVariable)
		if python == "" {
			python = "python3"
		}
		return execlane.Config{Argv: []string{python, "-c", shim, module, attribute}, Shown: []string{python, module, attribute}}, nil
	}
	return execlane.Config{}, fmt.Errorf("runner %q: want exec:COMMAND or python:MODULE:ATTR", reference)
}

// Split splits a text into words as a POSIX shell does: by white space, with single and double quotes and backslashes.
func Split(text string) (words []string, err error) {
	var word strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'':
			if i++; i == len(text) {
				return nil, errors.New("nothing stands behind the last backslash")
			}
			if quote == '"' && text[i] != '"' && text[i] != '\\' {
				word.WriteByte('\\')
			}
			word.WriteByte(text[i])
		default:
			word.WriteByte(c)
		}
		in = true
	}
	if quote != 0 {
		return nil, fmt.Errorf("a %c is not closed", quote)
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}
