module concordat

go 1.26
