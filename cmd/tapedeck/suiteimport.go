// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/evaluation/suite"
	"github.com/tapedeck/tapedeck/tape"
)

// adkFormat is the only format of cases that is read.
const adkFormat = "adk"

type suiteImportFlags struct {
	dir, format, criteria string
	replace               bool
}

func newSuiteImport() *cobra.Command {
	var f suiteImportFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make cases of an eval set of ADK, for suite check",
		Long: `Make cases of an eval set of ADK (*.evalset.json, *.test.json), for suite check: a
folder with case.yaml for each turn of a conversation. A case is for the runs that were
asked what the turn asks. The criteria are those of test_config.json beside FILE, of
--criteria, or else ADK's own: exact tool calls, and 0.8 of the words of the answer.

The folders are printed, a line each. What of FILE the cases do not say is named on
stderr. The exit code is 0 if all was taken over, 1 if something was not, 2 if FILE
could not be read.`,
		Example: `  tapedeck suite import agent.evalset.json --suite checks`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	addSuite(cmd, &f.dir)
	cmd.Flags().StringVar(&f.format, "format", adkFormat, "the format of FILE: "+adkFormat)
	cmd.Flags().StringVar(&f.criteria, "criteria", "", "a test_config.json (default: the one beside FILE)")
	cmd.Flags().BoolVar(&f.replace, "replace", false, "write over cases of these names, and what was edited in them")
	return cmd
}

// readCriteria reads the file of --criteria, or the one beside the eval set if there is one.
func (f *suiteImportFlags) readCriteria(file string) (suite.Criteria, error) {
	name := f.criteria
	if name == "" {
		name = filepath.Join(filepath.Dir(file), "test_config.json")
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return suite.ADKDefaults(), nil
		}
	}
	data, err := readBounded(name, tape.MaxBytes)
	if err != nil {
		return suite.Criteria{}, err
	}
	c, err := suite.ReadADKCriteria(data)
	if err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

func (f *suiteImportFlags) run(cmd *cobra.Command, file string) error {
	if f.format != adkFormat {
		return fmt.Errorf("--format must be %s, not %.40q", adkFormat, f.format)
	}
	criteria, err := f.readCriteria(file)
	if err != nil {
		return err
	}
	data, err := readBounded(file, tape.MaxBytes)
	if err != nil {
		return err
	}
	stem, _, _ := strings.Cut(filepath.Base(file), ".")
	cases, lost, err := suite.ReadADK(stem, data, criteria)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, c := range cases {
		folder, err := suite.AddImported(f.dir, c, f.replace)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), folder); err != nil {
			return err
		}
		for _, what := range c.Lost {
			lost = append(lost, c.Name+": "+what)
		}
	}
	for _, what := range lost {
		say(cmd.ErrOrStderr(), "%s", what)
	}
	switch {
	case len(cases) == 0:
		return fmt.Errorf("%s holds no case that recorded runs can be held against", file)
	case len(lost) > 0:
		return &exitError{code: exitPartial}
	}
	return nil
}
