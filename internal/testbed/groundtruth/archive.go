// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// Archived finds the recorded runs in the archives GROUP.tar.zst of a folder, sorted. It unpacks them
// below the folder to, where the files of the runs lie.
func Archived(dir, to string) ([]Run, error) {
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar.zst"))
	if err != nil {
		return nil, err
	}
	for _, path := range archives {
		if err := unpack(path, to); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return Corpus(to)
}

func unpack(path, to string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	z, err := zstd.NewReader(f)
	if err != nil {
		return err
	}
	defer z.Close()
	root, err := os.OpenRoot(to) // no name in an archive leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	for files := tar.NewReader(z); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && head.Typeflag == tar.TypeReg {
			err = unpackFile(root, head.Name, files)
		}
		if err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, content io.Reader) error {
	body, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return root.WriteFile(name, body, 0o644)
}
