package liveview

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"endpoint-breaker/internal/demo"
)

// frame is the state to show from now on.
type frame demo.State

// model is the view's state: the story's, the screen's size, and whether somebody left.
type model struct {
	read          func() demo.State
	state         demo.State
	width, height int
	left          bool
}

func newModel(read func() demo.State) model {
	return model{read: read, state: read(), width: minWidth, height: minHeight}
}

// Init implements tea.Model.
func (m model) Init() tea.Cmd { return m.nextFrame() }

// Update implements tea.Model.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case frame:
		m.state = demo.State(msg)
		return m, m.nextFrame()
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		if key := msg.String(); key == "q" || key == "ctrl+c" {
			m.left = true
			return m, tea.Quit
		}
	}
	return m, nil
}

// View implements tea.Model.
func (m model) View() tea.View {
	view := tea.NewView(screenOf(m.state, m.width, m.height).ansi())
	view.AltScreen = true
	return view
}

func (m model) nextFrame() tea.Cmd {
	return tea.Tick(refresh, func(time.Time) tea.Msg { return frame(m.read()) })
}
