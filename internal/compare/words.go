package compare

// Words are the same sentence in both languages of the documents.
type Words struct {
	English, Chinese string
}
