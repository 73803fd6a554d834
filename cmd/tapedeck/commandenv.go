// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
)

// envFlags say which variables a command gets that it would not get without them.
type envFlags struct{ pass rerun.Choice }

func (f *envFlags) add(flags *pflag.FlagSet, names, patterns string) {
	flags.Var(checkedList{&f.pass.Names, rerun.CheckName}, "env", names)
	flags.Var(checkedList{&f.pass.Patterns, rerun.CheckPattern}, "env-from", patterns)
}

// checkedList is a flag that can be repeated, and whose values are checked.
type checkedList struct {
	list  *[]string
	check func(string) error
}

func (l checkedList) String() string { return strings.Join(*l.list, ",") }

func (l checkedList) Set(value string) error {
	*l.list = append(*l.list, value)
	return l.check(value)
}

func (checkedList) Type() string { return "stringArray" }

// credentials are the variables with the keys of stores, by the scheme of their decks.
var credentials = map[string][]string{
	"s3": {"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN"},
	"gs": {"GOOGLE_APPLICATION_CREDENTIALS"},
	"azblob": {
		"AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "AZURE_PASSWORD",
	},
}

// program is the environment of a program that is no replay: a recorded agent, a runner, a scorer, a check.
// It lacks secrets of this program, and of these are the keys of the stores in which the decks lie; withheld
// names those.
func (f *envFlags) program(decks ...string) (environ, withheld []string) {
	var secrets []string
	for _, address := range decks {
		scheme, _, _ := strings.Cut(address, "://")
		secrets = append(secrets, credentials[scheme]...)
	}
	return f.pass.Program(secretenv.Environ(), secrets)
}

// programEnviron is the environment of a program that nothing is passed on to.
func programEnviron(decks ...string) []string {
	environ, _ := (&envFlags{}).program(decks...)
	return environ
}
