package main

import "context"

func demo(ctx context.Context, std stdio, args []string) error { return serve(ctx, std, args) }
