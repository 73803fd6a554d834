// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// maxFlagFile bounds a file of flags, in bytes.
const maxFlagFile = 1 << 20

// takeFlagFile lets a command take its flags from a YAML file: names of flags and their values, lists for
// repeatable ones. A flag of the command line wins.
func takeFlagFile(c *cobra.Command) {
	file := c.Flags().String("config", "", "a YAML file with flags of this command by their names; those of the command line win")
	c.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if *file == "" {
			return nil
		}
		if err := readFlagFile(cmd, *file); err != nil {
			return fmt.Errorf("--config: %s: %w", *file, withoutPath(err))
		}
		return nil
	}
}

func readFlagFile(cmd *cobra.Command, file string) error {
	data, err := readBounded(file, maxFlagFile)
	if err != nil {
		return err
	}
	if len(data) > maxFlagFile {
		return fmt.Errorf("it has more than %d bytes", maxFlagFile)
	}
	var settings map[string]yaml.Node
	if err := yaml.Unmarshal(data, &settings); err != nil {
		return err
	}
	flags := cmd.Flags()
	for name, node := range settings {
		flag := flags.Lookup(name)
		if flag == nil || name == "config" || name == "help" {
			return fmt.Errorf("line %d: %s takes no %s from a file", node.Line, cmd.CommandPath(), name)
		}
		if flag.Changed {
			continue
		}
		values := []*yaml.Node{&node}
		if node.Kind == yaml.SequenceNode {
			values = node.Content
		}
		for _, v := range values {
			if v.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: %s is no value or list of values", v.Line, name)
			}
			if err := flags.Set(name, v.Value); err != nil {
				return fmt.Errorf("line %d: %w", v.Line, err)
			}
		}
	}
	return nil
}
