module barnabas.test/loadgen

go 1.22
