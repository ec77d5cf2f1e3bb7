from ._locate import locate as locate
from ._location import Location as Location, Place as Place
