# Writes SUITE_PART("folder", "SHA-256 of its sources, each with its name") for each of PARTS under ROOT to OUT.
set(rows)
foreach(part ${PARTS})
  file(GLOB files RELATIVE ${ROOT} ${ROOT}/${part}/*.cc ${ROOT}/${part}/*.h ${ROOT}/${part}/*.def)
  list(SORT files)
  set(lines)
  foreach(file ${files})
    file(SHA256 ${ROOT}/${file} hash)
    string(APPEND lines "${hash}  ${file}\n")  # as sha256sum prints it
  endforeach()
  string(SHA256 hash "${lines}")
  string(APPEND rows "SUITE_PART(\"${part}\", \"${hash}\")\n")
endforeach()
file(WRITE ${OUT} "${rows}")
