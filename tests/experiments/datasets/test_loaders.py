"""Loaders, on small files of the same format as the real ones."""

from __future__ import annotations

import io
import struct
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import dump_svmlight_file

from minmargin.experiments.datasets.flights import load_flights_3m, load_nycflights13
from minmargin.experiments.datasets.formats import read_arff, read_csv, read_idx, read_svmlight, to_matrix
from minmargin.experiments.datasets.images import load_fashion_mnist, load_mnist
from minmargin.experiments.datasets.tables import (
    load_a9a,
    load_cod_rna,
    load_covtype,
    load_magic04,
    load_nomao,
    load_shuttle,
)


def csv_of(rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows).encode()


def idx_of(array):
    return (
        b"\x00\x00\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
    )


def svmlight_of(X, y):
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=False)
    return file.getvalue()


def check(table, n_rows, n_features):
    """Check what every table promises."""
    assert table.X.shape == (n_rows, n_features)
    assert table.y.shape == (n_rows,)
    assert table.y.dtype == np.intp
    assert len(set(table.features)) == len(table.features) == n_features
    assert 0 <= table.y.min() <= table.y.max() < len(table.classes)
    assert np.isfinite(table.X).all()


# Formats


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=3)))
def test_an_idx_file_gives_back_its_array(array):
    assert np.array_equal(read_idx(idx_of(array)), array)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 4)),
        elements=st.floats(-1e9, 1e9, allow_nan=False),
    )
)
def test_csv_and_arff_give_back_their_numbers_to_the_bit(array):
    body = csv_of(array.tolist())
    names = [f"V{i}" for i in range(array.shape[1])]
    head = "@relation r\n\n" + "".join(f"@attribute {name} numeric\n" for name in names) + "\n@data\n"
    arff = read_arff(head.encode() + body)
    assert arff.column_names == names
    for table in (arff, read_csv(body, header=False)):
        assert np.array_equal(to_matrix(dict(enumerate(table.columns))), array)


def test_an_arff_header_may_be_in_capitals_and_name_nominal_values():
    table = read_arff(b"@RELATION r\n@ATTRIBUTE a {1,2}\n@Attribute b\tNUMERIC\n@DATA\n1,0.5\n2,0.25\n")
    assert table.to_pydict() == {"a": [1, 2], "b": [0.5, 0.25]}


def test_svmlight_is_dense_and_counts_features_from_one():
    X, y = read_svmlight(b"-1 2:1 3:0.5 \n+1 1:2\n", 4)
    assert X.tolist() == [[0, 1, 0.5, 0], [2, 0, 0, 0]]
    assert y.tolist() == [-1, 1]


def test_a_missing_value_is_nan():
    table = read_csv(b"a,b\n1,NA\nNA,x\n")
    assert table["b"].to_pylist() == [None, "x"]
    assert np.array_equal(to_matrix({"a": table["a"]})[:, 0], [1, np.nan], equal_nan=True)


# Images


@pytest.mark.parametrize(("load", "third"), [(load_mnist, "2"), (load_fashion_mnist, "pullover")])
def test_images_are_rows_of_intensities_with_a_test_set(load, third):
    pixels = np.arange(3 * 4, dtype=np.uint8).reshape(3, 2, 2) * 23
    table = load(
        {
            "train-images-idx3-ubyte": idx_of(pixels),
            "train-labels-idx1-ubyte": idx_of(np.array([9, 0, 2], np.uint8)),
            "t10k-images-idx3-ubyte": idx_of(pixels[:1]),
            "t10k-labels-idx1-ubyte": idx_of(np.array([5], np.uint8)),
        }
    )
    check(table, 3, 4)
    assert table.X.dtype == table.test_X.dtype == np.float32
    assert np.array_equal(table.X, pixels.reshape(3, 4).astype(np.float32) / np.float32(255))
    assert table.X.max() <= 1
    assert table.y.tolist() == [9, 0, 2]
    assert table.test_X.tolist() == table.X[:1].tolist()
    assert table.test_y.tolist() == [5]
    assert table.test_y.dtype == np.intp
    assert table.classes[2] == third
    assert len(table.classes) == 10
    assert table.features == ("pixel_0_0", "pixel_0_1", "pixel_1_0", "pixel_1_1")


# Tables


def test_nomao_takes_codes_as_numbers_and_the_last_column_as_the_class():
    content = (
        b"@relation nomao\n@attribute V1 numeric\n@attribute V2 {1,2,3}\n@attribute Class {1,2}\n@data\n"
    )
    table = load_nomao({"nomao.arff": content + b"0.5,3,2\n1,1,1\n"})
    check(table, 2, 2)
    assert table.X.tolist() == [[0.5, 3], [1, 1]]
    assert table.y.tolist() == [1, 0]
    assert table.features == ("V1", "V2")


def test_shuttle_has_seven_classes_counted_from_one():
    rows = [[50, 21, 77, 0, 28, 0, 27, 48, 22, 2], [55, 0, 92, 0, 0, 26, 36, 92, 56, 7]]
    table = load_shuttle({"shuttle.trn": csv_of(rows)})
    check(table, 2, 9)
    assert table.X.tolist() == [row[:9] for row in rows]
    assert table.y.tolist() == [1, 6]
    assert (table.classes[1], table.classes[6]) == ("Fpv Close", "Bpv Open")


def test_magic_tells_gamma_from_hadron():
    rows = [[float(i) for i in range(10)], [float(i) / 8 for i in range(10)]]
    table = load_magic04({"magic04.data": csv_of([[*rows[0], "g"], [*rows[1], "h"]])})
    check(table, 2, 10)
    assert table.X.tolist() == rows
    assert [table.classes[code] for code in table.y] == ["gamma", "hadron"]


@pytest.mark.parametrize(
    ("load", "name", "n_features"), [(load_a9a, "a9a", 123), (load_cod_rna, "cod-rna", 8)]
)
def test_svmlight_sets_code_minus_one_as_zero(load, name, n_features):
    X = np.zeros((3, n_features))
    X[[0, 1], [1, n_features - 1]] = [0.5, -766]
    table = load({name: svmlight_of(X, np.array([1, -1, -1]))})
    check(table, 3, n_features)
    assert np.array_equal(table.X, X)
    assert table.y.tolist() == [1, 0, 0]
    assert table.classes == ("-1", "+1")


def test_covtype_is_class_two_against_the_rest():
    rows = [[*range(54), cover] for cover in (5, 2, 1, 7)]
    table = load_covtype({"covtype.data": csv_of(rows)})
    check(table, 4, 54)
    assert table.X[3].tolist() == list(range(54))
    assert table.y.tolist() == [0, 1, 0, 0]
    assert table.classes == ("other", "lodgepole pine")
    assert (table.features[0], table.features[-1]) == ("elevation", "soil_type_40")


# Flights


def flights_3m(delays):
    file = io.BytesIO()
    table = pa.table(
        {
            "date": [datetime(2001, 3, 4, 17, 45), datetime(2001, 1, 1, 0, 1), datetime(2001, 6, 30, 6, 0)],
            "delay": delays,
            "distance": [100, 2176, 0],
            "origin": ["LAS", "ATL", "LAS"],
            "destination": ["PHL", "LAS", "SAV"],
        }
    )
    pq.write_table(table, file, row_group_size=2)
    return load_flights_3m({"flights-3m.parquet": file.getvalue()})


def test_flights_have_sixteen_features_of_time_and_traffic():
    table = flights_3m([15, 16, -3])
    check(table, 3, 16)
    assert table.y.tolist() == [0, 1, 0]
    sunday = dict(zip(table.features, table.X[0].tolist(), strict=True))
    quarter = 2 * np.pi * (17 * 60 + 45) / 1440
    assert sunday == pytest.approx(
        {
            "month": 3,
            "day_of_month": 4,
            "day_of_year": 31 + 28 + 4,
            "weekday": 6,
            "hour": 17,
            "minute": 45,
            "weekend": 1,
            "sine_of_time": np.sin(quarter),
            "cosine_of_time": np.cos(quarter),
            "distance": 100,
            "log_distance": np.log(101),
            "log_origin_traffic": np.log(2),
            "log_destination_traffic": 0,
            "log_route_traffic": 0,
            "origin_rank": 0,
            "destination_rank": 1,
        }
    )
    # LAS leaves twice; equally busy destinations stand in the order of their names.
    assert table.X[:, table.features.index("origin_rank")].tolist() == [0, 1, 0]
    assert table.X[:, table.features.index("destination_rank")].tolist() == [1, 0, 2]


def test_no_feature_of_flights_knows_the_delay():
    assert np.array_equal(flights_3m([0, 0, 0]).X, flights_3m([99, 16, -30]).X)


NYC = {
    "flights.csv": (
        b"year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,"
        b"origin,dest,air_time,distance,hour,minute,time_hour\n"
        b"2013,1,1,517,515,2,830,819,16,UA,1545,N1,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z\n"
        b"2013,1,1,NA,530,NA,NA,830,NA,UA,1714,N2,EWR,IAH,NA,1400,5,30,2013-01-01T10:00:00Z\n"
        b"2013,12,31,2350,2350,0,20,30,15,B6,30,NA,JFK,BQN,190,1576,23,50,2014-01-01T04:00:00Z\n"
        b"2013,7,6,900,900,0,1100,1100,-5,B6,31,N9,LGA,ATL,120,762,9,0,2013-07-06T13:00:00Z\n"
    ),
    "weather.csv": (
        b"origin,year,month,day,hour,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,time_hour\n"
        b"EWR,2013,1,1,5,39.5,26,59,270,10.5,NA,0,1012,10,2013-01-01T10:00:00Z\n"
        b"JFK,2013,12,31,23,30,20,50,NA,8,20,0,1010,10,2014-01-01T04:00:00Z\n"
        b"LGA,2013,7,6,9,80,70,60,180,6,30,0.5,NA,9,2013-07-06T13:00:00Z\n"
    ),
    "planes.csv": (
        b"tailnum,year,type,manufacturer,model,engines,seats,speed,engine\n"
        b"N1,2004,Fixed wing multi engine,EMBRAER,EMB-145XR,2,55,NA,Turbo-fan\n"
        b"N9,1998,Fixed wing multi engine,AIRBUS,A320-214,4,182,NA,Turbo-fan\n"
    ),
    "airports.csv": (
        b'faa,name,lat,lon,alt,tz,dst,tzone\nIAH,"Houston, George Bush",29.98,-95.34,97,-6,A,America/Chicago\n'
        b"ATL,Atlanta,33.63,-84.42,1026,-5,A,America/New_York\n"
    ),
}


def test_nycflights_joins_schedule_weather_plane_and_airport():
    table = load_nycflights13(NYC)
    check(table, 3, 32)
    assert table.y.tolist() == [
        1,
        0,
        0,
    ]  # 16 minutes are late, 15 are not; a flight that never arrived is left out
    first = dict(zip(table.features, table.X[0].tolist(), strict=True))
    time = 2 * np.pi * (5 * 60 + 15) / 1440
    assert first == pytest.approx(
        {
            "month": 1,
            "day_of_month": 1,
            "day_of_year": 1,
            "weekday": 1,
            "hour": 5,
            "minute": 15,
            "sine_of_time": np.sin(time),
            "cosine_of_time": np.cos(time),
            "arrival_minute_of_day": 8 * 60 + 19,
            "minutes_by_local_clocks": 184,
            "distance": 1400,
            "flight_number": 1545,
            "carrier_rank": 1,  # as many flights as B6, which comes first by name
            "origin_rank": 0,
            "destination_rank": 0,
            "log_route_traffic": np.log(2),
            "departures_in_the_hour": 2,
            "temp": 39.5,
            "dewp": 26,
            "humid": 59,
            "wind_dir": 270,
            "wind_speed": 10.5,
            "wind_gust": 25,  # missing: the median of 20 and 30
            "precip": 0,
            "pressure": 1012,
            "visib": 10,
            "plane_year": 2004,
            "plane_seats": 55,
            "plane_engines": 2,
            "destination_lat": 29.98,
            "destination_lon": -95.34,
            "destination_alt": 97,
        }
    )
    second = dict(zip(table.features, table.X[1].tolist(), strict=True))
    assert (second["day_of_year"], second["minutes_by_local_clocks"]) == (365, 40)
    assert (second["plane_seats"], second["wind_dir"]) == ((55 + 182) / 2, 225)
    assert second["destination_alt"] == (97 + 1026) / 2


def test_no_feature_of_nycflights_knows_what_happened_after_the_schedule():
    flights = pd.read_csv(io.BytesIO(NYC["flights.csv"]))
    happened = ["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"]
    flights[happened] = flights[happened] + 7
    altered = {**NYC, "flights.csv": flights.to_csv(index=False, na_rep="NA").encode()}
    assert np.array_equal(load_nycflights13(NYC).X, load_nycflights13(altered).X)
