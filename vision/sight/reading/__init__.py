"""From looks at a card to its name, with a stated bound of error."""
