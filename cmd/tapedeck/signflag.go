// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck/signature"
)

// signFlag names the key with which a command signs the tapes that it writes.
type signFlag struct {
	keyFile string
	concern concernTeller
}

func (f *signFlag) add(cmd *cobra.Command) {
	f.concern = tellingConcerns(cmd)
	cmd.Flags().StringVar(&f.keyFile, "sign-key", "", "sign the tapes that are written: file of an Ed25519 key, PKCS #8 in PEM")
}

// signer is nil where nothing is signed.
func (f *signFlag) signer() (*signature.Signer, error) {
	s, err := signature.ReadSigner(f.keyFile)
	if err != nil {
		return nil, fmt.Errorf("--sign-key: %w", err)
	}
	if s != nil {
		f.concern.tell(s.Concern())
	}
	return s, nil
}

// concernTeller says once on the stderr of a command who else has a key.
type concernTeller struct{ say func(string) }

func tellingConcerns(cmd *cobra.Command) concernTeller {
	said := false
	return concernTeller{func(concern string) {
		if !said {
			said = true
			say(cmd.ErrOrStderr(), "%s", concern)
		}
	}}
}

func (c concernTeller) tell(concern string) {
	if concern != "" && c.say != nil {
		c.say(concern)
	}
}
