"""Text as it is written, and for each of its lines whose mutants' it is."""


class Lines:
    def __init__(self):
        self.text = []
        self.owners = [()]

    def write(self, text, owners=()):
        self.text.append(text)
        for _ in range(text.count("\n")):
            self.owners.append(owners)
        if owners:
            self.owners[-1] = owners
