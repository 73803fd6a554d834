// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentprofile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.opentelemetry.io/collector/pdata/plog"
)

// BodiesVariable makes Claude Code write what its model is sent and answers: 1 into log records, cut at 60
// KB, file:DIR whole into files of a folder.
const BodiesVariable = "OTEL_LOG_RAW_API_BODIES"

// bodiesDir is the folder of these files within Places.Dir.
const bodiesDir = "bodies"

// Bodies reads the files that log records of Claude Code refer to.
type Bodies struct {
	dir  *os.Root
	left int64
	// Read counts the files that were taken in, Left those that were not: they were too large, or not there.
	Read, Left int
}

// Bounds of the bodies of one command. Evidence has a bound of 128 MiB.
const (
	maxBody   = 16 << 20
	maxBodies = 96 << 20
)

// OpenBodies makes the folder of the bodies below dir.
func OpenBodies(dir string) (*Bodies, error) {
	name := filepath.Join(dir, bodiesDir)
	if err := os.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Bodies{dir: root, left: maxBodies}, nil
}

// Close closes the folder.
func (b *Bodies) Close() error { return b.dir.Close() }

// Resolve puts into the records what the files hold that they refer to, as if it had been in the records.
// Files of other folders are not read.
func (b *Bodies) Resolve(logs plog.Logs) {
	for _, rl := range logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				ref, ok := record.Attributes().Get("body_ref")
				if !ok || filepath.Dir(ref.AsString()) != b.dir.Name() {
					continue
				}
				body, err := b.read(filepath.Base(ref.AsString()))
				if err != nil {
					b.Left++
					continue
				}
				b.Read++
				record.Attributes().Remove("body_ref")
				record.Attributes().PutStr("body", body)
			}
		}
	}
}

func (b *Bodies) read(name string) (text string, err error) {
	info, err := b.dir.Lstat(name)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > min(maxBody, b.left):
		return "", fmt.Errorf("%s is no file, or too large", name)
	}
	file, err := b.dir.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	body, err := io.ReadAll(io.LimitReader(file, info.Size()))
	b.left -= int64(len(body))
	return strings.ToValidUTF8(string(body), "�"), err
}
