// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
)

// Every tape that the exporter writes is signed by the configured key, in both layouts, over its evidence; and not without one.
func TestTapesAreSignedWithTheConfiguredKey(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{5}, ed25519.SeedSize))
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	keys := signature.Keys{}
	require.NoError(t, keys.Add(key.Public().(ed25519.PublicKey)))
	for _, layout := range []string{"files", "reels"} {
		for _, keyFile := range []string{file, ""} {
			name := "signing-" + layout
			if keyFile == "" {
				name += "-none"
			}
			mem.Drop(name)
			r := newRig(t, "mem://"+name, func(c *Config) { c.Layout, c.Signing.KeyFile, c.Reel.MaxRuns = layout, keyFile, 1 })
			r.start(t)
			require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(7, "acme")))
			r.stop(t)
			d, err := deck.Open(t.Context(), "mem://"+name)
			require.NoError(t, err)
			seen := 0
			for l, err := range d.Locations(t.Context()) {
				require.NoError(t, err)
				state, err := d.State(t.Context(), l)
				require.NoError(t, err)
				current, ok := state.Current()
				require.True(t, ok)
				for _, run := range current.Runs {
					for _, f := range run.Files {
						if _, ok := signature.KeyOf(f); !ok {
							continue
						}
						seen++
						body, err := d.ReadFile(t.Context(), l, current.Generation, run.Root, f)
						require.NoError(t, err)
						s, of, err := signature.ParseFile(body)
						require.NoError(t, err)
						require.True(t, keys.Holds(s, of))
						require.Equal(t, state.Parts, of.Evidence)
					}
				}
			}
			require.NoError(t, d.Close())
			want := 1
			if keyFile == "" {
				want = 0
			}
			require.Equal(t, want, seen, name)
		}
	}
}

func TestAKeyThatCannotSignIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(file, []byte("secret-of-another-kind"), 0o600))
	cfg := createDefaultConfig().(*Config)
	cfg.Deck = "file:///var/lib/tapes"
	require.NoError(t, cfg.Validate())
	for _, path := range []string{file, file + ".none"} {
		cfg.Signing.KeyFile = path
		err := cfg.Validate()
		require.ErrorContains(t, err, "signing: ")
		require.NotContains(t, err.Error(), "secret-of")
	}
}
