package encode

import "streamer/internal/events"

func (a *aiSDK) human(*events.Event)          {}
func (a *aiSDK) parent(*events.Event)         {}
func (a *agUI) human(*events.Event)           {}
func (a *agUI) parent(*events.Event)          {}
func (l *langGraph) human(*events.Event)      {}
func (l *langGraph) parent(*events.Event)     {}
func (a *agentProtocol) human(*events.Event)  {}
func (a *agentProtocol) parent(*events.Event) {}
