// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAKeyFileThatOthersHaveIsSaid(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte("0123456789abcdefghijklmnopqrstuv"), 0o600))
	k, err := KeyFromFile(path, "")
	require.NoError(t, err)
	require.Empty(t, k.Concern())
	require.NoError(t, os.Chmod(path, 0o644))
	k, err = KeyFromFile(path, "")
	require.NoError(t, err)
	require.Contains(t, k.Concern(), path+" can be read by everybody")
	require.NotContains(t, k.Concern(), "0123456789")
	require.NoError(t, os.Chmod(path, 0o606))
	_, err = KeyFromFile(path, "")
	require.ErrorContains(t, err, "can be written by everybody")
}

func TestAGeneratedKeyIsOfThisUserAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	dir := t.TempDir()
	k, err := GeneratedKey(dir, "")
	require.NoError(t, err)
	require.Empty(t, k.Concern())
	path := filepath.Join(dir, generatedKeyFile)
	require.NoError(t, os.Chmod(path, 0o640))
	_, err = GeneratedKey(dir, "")
	require.ErrorContains(t, err, "open to others")
	require.NoError(t, os.Chmod(path, 0o600))
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	require.NoError(t, os.Chown(path, 12345, -1))
	_, err = GeneratedKey(dir, "")
	require.ErrorContains(t, err, "belongs to another user")
	k, err = KeyFromFile(path, "")
	require.NoError(t, err)
	require.Contains(t, k.Concern(), "belongs to user 12345")
}
