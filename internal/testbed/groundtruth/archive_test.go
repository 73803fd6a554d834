// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// archive writes files as GROUP.tar.zst.
func archive(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "group.tar.zst"))
	require.NoError(t, err)
	z, err := zstd.NewWriter(f)
	require.NoError(t, err)
	w := tar.NewWriter(z)
	for name, body := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(body))}))
		_, err := w.Write([]byte(body))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
}

func TestArchivedRuns(t *testing.T) {
	dir := t.TempDir()
	archive(t, dir, map[string]string{"group/one.truth.json": `{"user_input":"hello"}`, "group/one.otlp.json": `{"resourceSpans":[]}`})
	runs, err := Archived(dir, t.TempDir())
	require.NoError(t, err)
	require.Len(t, runs, 1)
	assert.Equal(t, "group/one", runs[0].Group+"/"+runs[0].Scenario)
	assert.Len(t, runs[0].Files, 1)
}

func TestArchiveThatLeadsOut(t *testing.T) {
	dir := t.TempDir()
	archive(t, dir, map[string]string{"../one.truth.json": `{}`})
	_, err := Archived(dir, t.TempDir())
	assert.Error(t, err)
}
