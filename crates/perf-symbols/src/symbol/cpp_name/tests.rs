use super::{Extent, demangle};

const LIMIT: usize = 1 << 16;

/// Names and their texts as c++filt 2.40 writes them.
const NAMES: &[(&str, &str)] = &[
    ("_Z7refenumI1TENT_4EnumERS1_PS2_", "T::Enum refenum<T>(T&, T::Enum*)"),
    ("_Z6byenumILN1T4EnumE0EEvRS0_RS1_", "void byenum<(T::Enum)0>(T&, T::Enum&)"),
    (
        "_ZN4llvm10FoldingSetINS_4SCEVEE14GetNodeProfileEPKNS_14FoldingSetBaseEPNS3_4NodeERNS_16FoldingSetNodeIDE",
        "llvm::FoldingSet<llvm::SCEV>::GetNodeProfile(llvm::FoldingSetBase const*, llvm::FoldingSetBase::Node*, llvm::FoldingSetNodeID&)",
    ),
    ("_Z2fpIXadL_Z2fniEEEiv", "int fp<&(fn(int))>()"),
    ("_Z2mdIXadL_ZN1T1mEEEEiv", "int md<&T::m>()"),
    ("_Z2mfIXadL_ZNK1TclEiEEEiv", "int mf<&(T::operator()(int) const)>()"),
    ("_Z4litsILb0ELc0ELl0ELj0EXadL_Z2fniEEEvv", "void lits<false, (char)0, 0l, 0u, &(fn(int))>()"),
    ("_Z4litsILb1ELc97ELln5ELj7ELDnEEvv", "void lits<true, (char)97, -5l, 7u, decltype(nullptr)>()"),
    ("_Z4callIXtlZ4mainEUliE_EEEii", "int call<main::{lambda(int)#1}{}>(int)"),
    ("_Z3clsIXtl3LitLi1ELi2EEEEvv", "void cls<Lit{1, 2}>()"),
    (
        "_Z2unIZZNKR1T1fEiEN1L1gEvEUlvE_EvT_",
        "void un<T::f(int) const &::L::g()::{lambda()#1}>(T::f(int) const &::L::g()::{lambda()#1})",
    ),
    (
        "_ZZZN1T1gIiEEDaT_ENKUlS1_DpOT0_E_clIiJidEEEDaS1_S4_ENKUlvE_clEv",
        "T::g<int>(int)::{lambda(auto:1, (auto:2&&)...)#1}::operator()<int, int, double>(int, int&&, double&&) const::{lambda()#1}::operator()() const",
    ),
    (
        "_ZZ4mainENKUlT_DpT0_E0_clIS2_JicEEEiS_S1_",
        "int main::{lambda(auto:1, (auto:2)...)#2}::operator()<{lambda(auto:1, (auto:2)...)#2}, int, char>({lambda(auto:1, (auto:2)...)#2}, int, char) const",
    ),
    ("_ZZ4dfltIiEvT_iENK3$_0clEv", "dflt<int>(int, int)::$_0::operator()() const"),
    ("_ZZZNKR1T1fEiEN1L1gEvENKUlvE_clEv", "T::f(int) const &::L::g()::{lambda()#1}::operator()() const"),
    ("_ZZ1fiEd0_NKUlvE_clEv", "f(int)::{default arg#2}::{lambda()#1}::operator()() const"),
    ("_ZZ1fvE1x_0", "f()::x"),
    (
        "_Z3ttpISt6vectorJiSaIiEEEvT_IJDpT0_EE",
        "void ttp<std::vector, int, std::allocator<int> >(std::vector<int, std::allocator<int> >)",
    ),
    ("_Z4packIJiRidEEDaDpOT_", "auto pack<int, int&, double>(int&&, int&, double&&)"),
    ("_ZN4node7FPrintFIJEEEvP8_IO_FILEPKcDpOT_", "void node::FPrintF<>(_IO_FILE*, char const*)"),
    (
        "_ZN4llvm12hash_combineIJNS_9hash_codeES1_EEES1_DpRKT_",
        "llvm::hash_code llvm::hash_combine<llvm::hash_code, llvm::hash_code>(llvm::hash_code const&, llvm::hash_code const&)",
    ),
    (
        "_ZN4llvm2cl3optIbLb0ENS0_6parserIbEEEC2IJA1_cEEEDpRKT_",
        "llvm::cl::opt<bool, false, llvm::cl::parser<bool> >::opt<char [1]>(char const (&) [1])",
    ),
    ("_Z4foldIJiiEEDTfrplfp_EDpT_", "decltype (({parm#1}+...)) fold<int, int>(int, int)"),
    ("_Z5fold2IJilEEDTfLplLi0Efp_EDpT_", "decltype (((0)+...+{parm#1})) fold2<int, long>(int, long)"),
    (
        "_Z5decl2IiEDTcmcmscifp_nw_T_pifp_Equfp_Li1ELi2EES0_",
        "decltype (((static_cast<int>({parm#1})),(new int({parm#1}))),({parm#1}?(1) : (2))) decl2<int>(int)",
    ),
    ("_Z4declI1TEDTpldtfp_1mstT_ES1_", "decltype (({parm#1}.m)+(sizeof (T))) decl<T>(T)"),
    ("_Z2gtIlE3ArrIXqugtszfp_Li2ELi1ELi2EEET_", "Arr<(((sizeof {parm#1})>(2)))?(1) : (2)> gt<long>(long)"),
    ("_Z3arrILi3EEvRAT__i3ArrIXplT_Li1EEE", "void arr<3>(int (&) [3], Arr<(3)+(1)>)"),
    ("_ZNK1TcvSt6vectorIiSaIiEEEv", "T::operator std::vector<int, std::allocator<int> >() const"),
    ("_ZN5OuterIiE5InnerIcEcvT_IPcEEv", "Outer<int>::Inner<char>::operator char*<char*>()"),
    ("_ZNK1TssERKS_", "T::operator<=>(T const&) const"),
    ("_ZN1AptEv", "A::operator->()"),
    ("_ZN1AclIJiEEEvDpT_", "void A::operator()<int>(int)"),
    ("_ZN1AlsIiEERS_T_", "A& A::operator<< <int>(int)"),
    ("_Zli2_sIJLc49ELc50ELc51EEEiv", "int operator\"\" _s<(char)49, (char)50, (char)51>()"),
    ("_Z2daIR1TEDcOT_", "decltype(auto) da<T&>(T&)"),
    ("_Z6retfp2IiEPFidET_", "int (*retfp2<int>(int))(double)"),
    ("_ZNKSt9_Any_data9_M_accessIPFiiEEERKT_v", "int (* const&std::_Any_data::_M_access<int (*)(int)>() const)(int)"),
    ("_Z1fPM1AKFvvE", "f(void (A::**)() const)"),
    ("_Z1fRA3_KiPA4_A5_i", "f(int const (&) [3], int (*) [4][5])"),
    ("_Z4volqPViPVKi", "volq(int volatile*, int const volatile*)"),
    ("_Z3vecDv4_i", "vec(int __vector(4))"),
    ("_Z1fPU3AS1i", "f(int AS1*)"),
    ("_Z1fDF16b", "f(std::bfloat16_t)"),
    ("_ZNO1T1fEi", "T::f(int) &&"),
    ("_ZN1a1b6TaggedB3tag1fEv", "a::b::Tagged[abi:tag]::f()"),
    ("_ZN12_GLOBAL__N_14Anon1gIiEEvT_", "void (anonymous namespace)::Anon::g<int>(int)"),
    ("_ZTAXtlZ4mainEUliE_EE", "template parameter object for main::{lambda(int)#1}{}"),
    ("_ZTCN1A1BE0_1C", "construction vtable for C-in-A::B"),
    ("_ZGVZ1fvE1x", "guard variable for f()::x"),
    ("_ZGTtNSt12domain_errorC1EPKc", "transaction clone for std::domain_error::domain_error(char const*)"),
    ("_ZTv0_n24_N1AD0Ev", "virtual thunk to A::~A()"),
    ("_ZTch0_h16_N1C2clEv", "covariant return thunk to C::cl()"),
    ("_ZN1ACI21BEi", "A::B(int)"),
    ("_ZDC1a1bE", "[a, b]"),
    ("_ZNW3foo1AC1Ev", "A@foo::A()"),
    ("_ZN1A1fEv.part.0.isra.0.cold", "A::f() [clone .part.0] [clone .isra.0] [clone .cold]"),
    ("_ZN1A1fEv.llvm.12.cold.1", "A::f() [clone .llvm.12] [clone .cold.1]"),
    (
        "_ZSt16__insertion_sortIPPN2v88internal10RegExpTreeEN9__gnu_cxx5__ops15_Iter_comp_iterIZNS1_8ZoneListIS3_E10StableSortIPFiPKS3_SC_EEEvT_mmEUlRSB_SG_E_EEEvSF_SF_T0_",
        "void std::__insertion_sort<v8::internal::RegExpTree**, __gnu_cxx::__ops::_Iter_comp_iter<v8::internal::ZoneList<v8::internal::RegExpTree*>::StableSort<int (*)(v8::internal::RegExpTree* const*, v8::internal::RegExpTree* const*)>(int (*)(v8::internal::RegExpTree* const*, v8::internal::RegExpTree* const*), unsigned long, unsigned long)::{lambda(v8::internal::RegExpTree* const&, v8::internal::RegExpTree* const&)#1}> >(v8::internal::RegExpTree**, v8::internal::RegExpTree**, __gnu_cxx::__ops::_Iter_comp_iter<v8::internal::ZoneList<v8::internal::RegExpTree*>::StableSort<int (*)(v8::internal::RegExpTree* const*, v8::internal::RegExpTree* const*)>(int (*)(v8::internal::RegExpTree* const*, v8::internal::RegExpTree* const*), unsigned long, unsigned long)::{lambda(v8::internal::RegExpTree* const&, v8::internal::RegExpTree* const&)#1}>)",
    ),
    (
        "_ZmiILj2EllE8poly_intIXT_EN11poly_resultIT0_T1_Xsr22poly_coeff_pair_traitsIS2_S3_E11result_kindEE4typeEERK12poly_int_podIXT_ES2_ERKS9_IXT_ES3_E",
        "poly_int<2u, poly_result<long, long, poly_coeff_pair_traits<long, long>::result_kind>::type> operator-<2u, long, long>(poly_int_pod<2u, long> const&, poly_int_pod<2u, long> const&)",
    ),
    (
        "_ZN2wi6lshiftINS_13hwi_with_precEiEENS_13binary_traitsIT_S3_XsrNS_10int_traitsIS3_EE14precision_typeEXsrS5_14precision_typeEE11result_typeERKS3_RKT0_",
        "wi::binary_traits<wi::hwi_with_prec, wi::hwi_with_prec, wi::int_traits<wi::hwi_with_prec>::precision_type, wi::int_traits<wi::hwi_with_prec>::precision_type>::result_type wi::lshift<wi::hwi_with_prec, int>(wi::hwi_with_prec const&, int const&)",
    ),
    ("_ZNSsC1Ev", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string()"),
    ("_ZNSolsEPFRSoS_E", "std::ostream::operator<<(std::ostream& (*)(std::ostream&))"),
    ("_GLOBAL__I__Z1fv", "global constructors keyed to f()"),
    ("_ZNK1AUlTyT_E_clIiEEDaS0_", "auto A::{lambda<typename $T0>($T0)#1}::operator()<int>(int) const"),
];

/// Names that c++filt 2.40 does not demangle, or against the grammar of C++.
const OWN_NAMES: &[(&str, &str)] = &[
    ("___Z3foov_block_invoke", "invocation function for block in foo()"),
    ("____ZN1A3fooEi_block_invoke_2", "invocation function for block in A::foo(int)"),
    ("_ZNH1A1fES_", "A::f(this A)"),
    ("_Z1fIiQ1CIT_EEvS0_", "void f<int>(int) requires C<int>"),
    ("_Z3bazIiEvT_Qsr3stdE8integralIS0_E", "void baz<int>(int) requires std::integral<int>"),
    ("_Z1fDk1C", "f(C auto)"),
    ("_Z1fDU64_", "f(unsigned _BitInt(64))"),
    ("_Z1fIiEDTdtfp_dnT_ES0_", "decltype ({parm#1}.~int) f<int>(int)"),
    (
        "_Z3nxcIiENSt9enable_ifIXnxplfp_fp_EvE4typeET_",
        "std::enable_if<noexcept({parm#1}+{parm#1}), void>::type nxc<int>(int)",
    ),
    ("_Z4noexPDoFvvEM1TKDoFvvRE", "noex(void (*)() noexcept, void (T::*)() const & noexcept)"),
    ("_ZN1BcvNS_1CIT_EEIiEEv", "B::operator B::C<int><int>()"),
    ("_Z1fIXrqXplLi1ELi2EEEEvv", "void f<requires { (1)+(2); }>()"),
    (
        "_ZN4llvmL16HI64SubClassMaskE.llvm.10140605335210516931",
        "llvm::HI64SubClassMask [clone .llvm.10140605335210516931]",
    ),
    ("_Z1fIJEiEvv", "void f<int>()"),
    (
        "_ZN1AIiE1fIZZNS0_C1EvENKUlvE_clEvEUlvE_EEvT_",
        "void A<int>::f<A<int>::A()::{lambda()#1}::operator()() const::{lambda()#1}>(A<int>::A()::{lambda()#1}::operator()() const::{lambda()#1})",
    ),
];

#[test]
fn names_are_written_as_by_cxxfilt() {
    for (name, text) in NAMES.iter().chain(OWN_NAMES) {
        assert_eq!(demangle(name, Extent::Full, LIMIT).as_deref(), Some(*text), "{name}");
    }
}

#[test]
fn names_without_parameters_keep_those_of_outer_functions() {
    let names = [
        ("_ZN1A1fEv.part.0.cold", "A::f"),
        ("_ZNK1T1fEi", "T::f"),
        ("_ZNK1TcvSt6vectorIiSaIiEEEv", "T::operator std::vector<int, std::allocator<int> >"),
        ("_ZZZNKR1T1fEiEN1L1gEvENKUlvE_clEv", "T::f(int) const &::L::g()::{lambda()#1}::operator()"),
        ("_Z6retfp2IiEPFidET_", "retfp2<int>"),
        ("_ZTv0_n24_N1AD0Ev.cold", "virtual thunk to A::~A()"),
        ("_ZssI1AEDaRKT_S3_", "operator<=><A>"),
    ];
    for (name, text) in names {
        assert_eq!(demangle(name, Extent::Name, LIMIT).as_deref(), Some(text), "{name}");
    }
}

#[test]
fn names_with_unknown_parameters_lose_only_these() {
    assert_eq!(demangle("_ZN1A1fE9", Extent::Full, LIMIT).as_deref(), Some("A::f"));
    assert_eq!(demangle("_Z1fIiEv9", Extent::Full, LIMIT).as_deref(), Some("f<int>"));
    // Perhaps the name of a function in C.
    assert_eq!(demangle("_Z1f9", Extent::Full, LIMIT), None);
}

#[test]
fn prefixes_of_names_and_changed_names_are_read_without_panics() {
    for (name, _) in NAMES.iter().chain(OWN_NAMES) {
        for end in 0..name.len() {
            demangle(&name[..end], Extent::Full, LIMIT);
            for byte in ["E", "I", "T_", "S_", "Z", "N", "J", "Dp", "99", "_", "é"] {
                demangle(&format!("{}{byte}{}", &name[..end], &name[end..]), Extent::Full, LIMIT);
                demangle(&format!("{}{byte}{}", &name[..end], &name[end + 1..]), Extent::Name, LIMIT);
            }
        }
    }
}

#[test]
fn hostile_names_end() {
    let twice = |element: &str, open: &str, close: &str| {
        let parts = (0..30).map(|digit| {
            let back = if digit == 0 { element.to_owned() } else { format!("S{}_", base_36(digit)) };
            format!("{open}{back}{back}{back}{close}")
        });
        parts.collect::<String>()
    };
    let names = [
        format!("_Z1f{}i", "P".repeat(100_000)),
        format!("_Z{}", "Z".repeat(100_000)),
        format!("_Z1fI{}", "1AI".repeat(100_000)),
        format!("_Z1fIX{}", "ng".repeat(100_000)),
        format!("_ZN{}E", "1A".repeat(100_000)),
        format!("_Z1fI1xE{}", twice("S_", "1yI", "E")),
        format!("_Z1fIJEEv{}", twice("DpT_", "1yI", "E")),
        format!("_Z1fIJiiEEv{}", twice("DpT_", "1yI", "E")),
        format!("_Z1fIJEEv{}T_", "Dp".repeat(200)),
        "_GLOBAL__I_".repeat(10_000),
        "_ZN1AcvT_IS0_EEv".to_owned(),
        "_ZN1AcvPT_IPS1_EEv".to_owned(),
        "_Z99999999999999999999f".to_owned(),
    ];
    let start = std::time::Instant::now();
    for name in &names {
        for extent in [Extent::Full, Extent::Name] {
            let text = demangle(name, extent, LIMIT);
            assert!(text.is_none_or(|text| text.len() <= LIMIT + name.len()), "{}", &name[..20]);
        }
    }
    assert!(start.elapsed().as_secs() < 20);
}

fn base_36(number: usize) -> char {
    char::from_digit(number as u32, 36).unwrap_or('Z').to_ascii_uppercase()
}
