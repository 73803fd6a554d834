// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package secretenv

func hide() error { return nil }

func open() (again func()) { return func() {} }
