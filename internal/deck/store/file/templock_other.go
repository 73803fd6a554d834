// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package file

import (
	"errors"
	"os"
)

func lockTemp(*os.File) error { return errors.ErrUnsupported }
