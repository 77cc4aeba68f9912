package main

import "context"

func demo(context.Context, stdio, []string) error      { return nil }
func serve(context.Context, stdio, []string) error     { return nil }
func replay(context.Context, stdio, []string) error    { return nil }
func interrupt(context.Context, stdio, []string) error { return nil }
