from ._locate import Located as Located, locate as locate
