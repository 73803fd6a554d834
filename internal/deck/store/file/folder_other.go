// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package file

import "errors"

func (t *tree) openDirect(string) (folder, error) { return nil, errors.ErrUnsupported }

func (t *tree) readDirect(string) ([]entry, error) { return nil, errors.ErrUnsupported }
